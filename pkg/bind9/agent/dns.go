// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

const messageTime, probeTime = 10 * time.Second, 2 * time.Second

// ProbeNamed queries named for the root SOA. Any response is success, even REFUSED.
func ProbeNamed(ctx context.Context, nameserver string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", nameserver)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(probeTime)); err != nil {
		return err
	}
	_, err = transfer.Exchange(ctx, conn, transfer.NewQuestion(name.Root, mdns.TypeSOA), nil)
	return err
}

// queryRRset returns named's records of a name and type, without records of other names and types in the answer. A
// missing RRset is empty, without an error.
func (a *Agent) queryRRset(ctx context.Context, owner name.Name, t rdata.Type) ([]mdns.RR, error) {
	message := new(mdns.Msg)
	message.SetQuestion(owner.String(), uint16(t))
	message.RecursionDesired = false
	answer, err := a.exchangeMessage(ctx, message)
	if err != nil {
		return nil, err
	}
	var records []mdns.RR
	for _, record := range answer.Answer {
		if record.Header().Rrtype == uint16(t) && mdns.CanonicalName(record.Header().Name) == owner.String() {
			records = append(records, record)
		}
	}
	return records, nil
}

// exchangeMessage sends a signed query to named over TCP. The error is a 409 if named refuses the key, and a 503
// without an answer.
func (a *Agent) exchangeMessage(ctx context.Context, message *mdns.Msg) (*mdns.Msg, error) {
	key, err := a.config.TSIGKey()
	if err != nil {
		return nil, fmt.Errorf("key of questions: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, messageTime)
	defer cancel()
	var answer *mdns.Msg
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.config.Nameserver)
	if err == nil {
		defer conn.Close()
		answer, err = transfer.Exchange(ctx, conn, message, &key)
	}
	var refusal *transfer.Refusal
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &refusal):
		return nil, refuse(http.StatusConflict, "named does not accept the agent's key %s: %v; give both the same key, "+
			"and the same clock", key.Name, refusal)
	}
	return nil, unavailable(fmt.Errorf("%s: %w", a.config.Nameserver, err), "named does not answer DNS")
}
