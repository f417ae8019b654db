// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/transfer"
)

// Dial connects to a server.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Served is the answer of a server about a zone.
type Served struct {
	// Keys are its DNSKEY records, Serial that of its SOA.
	Keys   map[string]bool
	Serial uint32
}

// AskKeys asks a secondary for the keys and the serial of a zone, until ctx ends.
func AskKeys(ctx context.Context, connect Dial, server Secondary, zone name.Name) (Served, error) {
	got := Served{Keys: map[string]bool{}}
	keys, err := askRRset(ctx, connect, server.Addr, server.Key, zone, mdns.TypeDNSKEY)
	if err != nil {
		return got, err
	}
	for _, record := range keys {
		if key, ok := record.(*mdns.DNSKEY); ok {
			got.Keys[fmt.Sprintf("%d %d %s", key.Flags, key.Algorithm, key.PublicKey)] = true
		}
	}
	soa, err := askRRset(ctx, connect, server.Addr, server.Key, zone, mdns.TypeSOA)
	for _, record := range soa {
		if one, ok := record.(*mdns.SOA); ok {
			got.Serial = one.Serial
		}
	}
	return got, err
}

// AskDS asks a server of the parent for the DS records of a zone, until ctx ends. A name that is not there has none: a
// parent may lose the delegation together with the DS.
func AskDS(ctx context.Context, connect Dial, at netip.AddrPort, zone name.Name) (data []string, ttl time.Duration, err error) {
	answer, err := askRRset(ctx, connect, at, nil, zone, mdns.TypeDS)
	for _, record := range answer {
		if ds, ok := record.(*mdns.DS); ok {
			data = append(data, fmt.Sprintf("%d %d %d %s", ds.KeyTag, ds.Algorithm, ds.DigestType, strings.ToUpper(ds.Digest)))
			ttl = max(ttl, time.Duration(ds.Hdr.Ttl)*time.Second)
		}
	}
	return data, ttl, err
}

// askRRset returns the answer section of an authoritative answer.
func askRRset(ctx context.Context, connect Dial, at netip.AddrPort, key *transfer.Key, zone name.Name, of uint16) ([]mdns.RR, error) {
	conn, err := connect(ctx, "tcp", at.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	question := new(mdns.Msg)
	question.SetQuestion(zone.String(), of)
	question.RecursionDesired = false
	answer, err := transfer.Exchange(ctx, conn, question, key)
	switch {
	case err != nil:
		return nil, err
	case answer.Rcode != mdns.RcodeSuccess && !(of == mdns.TypeDS && answer.Rcode == mdns.RcodeNameError):
		return nil, fmt.Errorf("it answers %s to a question for %s %s", mdns.RcodeToString[answer.Rcode], zone, mdns.TypeToString[of])
	case !answer.Authoritative:
		return nil, fmt.Errorf("its answer for %s %s is not authoritative", zone, mdns.TypeToString[of])
	}
	return answer.Answer, nil
}
