// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

const (
	packetTimeout, followTimeout, healthTimeout = time.Second, 2 * time.Second, 10 * time.Second
	// udpSize is in octets, small enough to avoid fragments.
	udpSize    = 1232
	secondLook = 500 * time.Millisecond
	// firstPause, between the questions to a lagging secondary, doubles up to lastPause.
	firstPause, lastPause = 10 * time.Millisecond, 500 * time.Millisecond
)

type probe struct {
	serial serial.Serial
	err    *delivery.Error
	note   string
	// passing is true if the fault may be temporary.
	passing bool
}

// probeSOA asks a secondary for the zone's SOA over UDP, within limit, and returns the serial, or the fault with the
// secondary's name. An answer of a secondary with a key counts only if signed.
func (p *Provider) probeSOA(ctx context.Context, s Secondary, zone name.Name, limit time.Duration) probe {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := p.dialerOf(s)(ctx, "udp", s.Addr.String())
	if local, refused := dial.AsLocal(err); refused {
		return probe{err: delivery.Errorf(delivery.ReasonInvalidConfiguration, "%s: %w", s.Name, local)}
	}
	if err != nil {
		return probe{err: delivery.Errorf(delivery.ReasonServerUnreachable, "%s: %w", s.Name, err)}
	}

	defer conn.Close()
	question := transfer.NewQuestion(zone, mdns.TypeSOA)
	question.SetEdns0(udpSize, false) // a signed answer with many name servers exceeds 512 octets

	deadline, _ := ctx.Deadline()
	var answer *mdns.Msg
	if err = conn.SetDeadline(deadline); err == nil {
		answer, err = transfer.Exchange(ctx, conn, question, s.Key)
	}

	var refusal *transfer.Refusal
	switch {
	// BADKEY, BADSIG or BADTIME: the key or the clock is wrong.
	case errors.As(err, &refusal) && refusal.TSIG != 0:
		e := delivery.Errorf(delivery.ReasonAuthenticationFailed, "%s: %w", s.Name, refusal)
		e.Code = mdns.RcodeToString[refusal.TSIG]
		return probe{err: e}
	case errors.As(err, &refusal) && refusal.Rcode != mdns.RcodeSuccess:
		// Some servers do not sign answers for a missing zone.
		return p.explainAbsent(s, zone, refusal.Rcode)
	case errors.As(err, &refusal):
		return probe{err: delivery.Errorf(delivery.ReasonAuthenticationFailed, "%s: its answer is not signed by its key; give both ends "+
			"the same key", s.Name)}
	// UDP loses packets, so a silent secondary may answer the next question.
	case err != nil:
		return probe{passing: true, err: delivery.Errorf(delivery.ReasonServerUnreachable, "%s: no answer: %w", s.Name, err)}
	}

	if at, ok := transfer.SerialIn(answer, zone); ok {
		return probe{serial: at}
	}
	return p.explainAbsent(s, zone, answer.Rcode)
}

// dialerOf returns the function that connects to a secondary: over TLS, whatever network and address are asked for, or
// in clear.
func (p *Provider) dialerOf(s Secondary) Dial {
	if s.TLS == nil {
		return p.config.Dial
	}
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := p.config.Dial(ctx, "tcp", s.TLSAddr.String())
		if err != nil {
			return nil, err
		}
		over := tls.Client(conn, s.TLS)
		if err := over.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		return over, nil
	}
}

// explainAbsent explains an answer without the zone's SOA. SERVFAIL is that of a server with the zone and no data, as
// before its first transfer or after expire (RFC 1034 §4.3.5), because its transfers fail.
func (p *Provider) explainAbsent(s Secondary, zone name.Name, rcode int) probe {
	remedy := "make the zone there"
	catalog := p.config.Catalog
	switch {
	case rcode == mdns.RcodeServerFailure:
		remedy = "if it has the zone, its transfers fail: see its log for transfers, and check its primaries, key, and the way to " +
			"port 53 of the primary"
	case !catalog.IsZero() && !s.NoCatalog:
		remedy = fmt.Sprintf("have it follow the catalog zone %s of the class, and if it does, transfer that anew (BIND: "+
			"rndc retransfer %s)", catalog, catalog)
	}
	e := delivery.Errorf(delivery.ReasonZoneNotFound, "%s does not serve %s; %s", s.Name, zone, remedy)
	e.Code = mdns.RcodeToString[rcode]
	return probe{err: e, passing: true}
}
