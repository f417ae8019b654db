// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/transfer"
)

const (
	// packetTimeout is how long one answer is waited for, followTimeout how long one Deliver waits for the secondaries,
	// healthTimeout how long a health check takes.
	packetTimeout, followTimeout, healthTimeout = time.Second, 2 * time.Second, 10 * time.Second
	// udpSize is the most octets of an answer over UDP, which no link fragments.
	udpSize = 1232
	// secondLook is the time between the two answers that prove that a secondary is ahead.
	secondLook = 500 * time.Millisecond
	// firstPause is between the first two questions to a secondary that is behind; it doubles up to lastPause.
	firstPause, lastPause = 10 * time.Millisecond, 500 * time.Millisecond
)

// seen is what a secondary answers about a zone.
type seen struct {
	serial serial.Serial
	err    *delivery.Error
	// note is what there is to say about it without an error.
	note string
	// passing: what is wrong may be over in a moment.
	passing bool
}

// probeSOA asks for the SOA over UDP, within limit.
func (p *Provider) probeSOA(ctx context.Context, s Secondary, zone name.Name, limit time.Duration) seen {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := p.config.Dial(ctx, "udp", s.Addr.String())
	if local, refused := dial.AsLocal(err); refused {
		return seen{err: delivery.Errorf(delivery.ReasonInvalidConfiguration, "%s: %w", s.Name, local)}
	}
	if err != nil {
		return seen{err: delivery.Errorf(delivery.ReasonServerUnreachable, "%s: %w", s.Name, err)}
	}
	defer conn.Close()
	question := transfer.NewQuestion(zone, mdns.TypeSOA)
	question.SetEdns0(udpSize, false) // a signed answer with many name servers passes 512 octets
	deadline, _ := ctx.Deadline()
	var answer *mdns.Msg
	if err = conn.SetDeadline(deadline); err == nil {
		answer, err = transfer.Exchange(ctx, conn, question, s.Key)
	}
	var refusal *transfer.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.TSIG != 0:
		e := delivery.Errorf(delivery.ReasonAuthenticationFailed, "%s: %w", s.Name, refusal)
		e.Code = mdns.RcodeToString[refusal.TSIG]
		return seen{err: e}
	case errors.As(err, &refusal) && refusal.Rcode != mdns.RcodeSuccess:
		// Some servers sign no answer about a zone that they do not have.
		return p.explainAbsent(s, zone, refusal.Rcode)
	case errors.As(err, &refusal):
		return seen{err: delivery.Errorf(delivery.ReasonAuthenticationFailed, "%s: its answer is not signed by its key; "+
			"see that both ends have the same key", s.Name)}
	case err != nil:
		return seen{passing: true, err: delivery.Errorf(delivery.ReasonServerUnreachable, "%s: no answer: %w", s.Name, err)}
	}
	if at, ok := transfer.SerialIn(answer, zone); ok {
		return seen{serial: at}
	}
	return p.explainAbsent(s, zone, answer.Rcode)
}

// explainAbsent is for a zone that the secondary does not serve, yet or at all. BIND that follows a catalog makes a
// zone that it lost again when it has transferred the catalog, which it does by itself only after a change of it.
func (p *Provider) explainAbsent(s Secondary, zone name.Name, rcode int) seen {
	remedy := "make the zone there"
	if catalog := p.config.Catalog; !catalog.IsZero() && !s.NoCatalog {
		remedy = fmt.Sprintf("have it follow the catalog zone %s of the class, and if it does, transfer that anew (BIND: "+
			"rndc retransfer %s)", catalog, catalog)
	}
	e := delivery.Errorf(delivery.ReasonZoneNotFound, "%s does not serve %s; %s", s.Name, zone, remedy)
	e.Code = mdns.RcodeToString[rcode]
	return seen{err: e, passing: true}
}
