// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

type Dial func(ctx context.Context, network, address string) (net.Conn, error)

type ServedKeys struct {
	Keys   map[string]bool
	Serial uint32
	// Expires is the earliest expiry of a DNSKEY or SOA signature; zero without signatures.
	Expires time.Time
}

func (s *ServedKeys) noteSignature(record mdns.RR) {
	if signature, ok := record.(*mdns.RRSIG); ok {
		if at := time.Unix(int64(signature.Expiration), 0); s.Expires.IsZero() || at.Before(s.Expires) {
			s.Expires = at
		}
	}
}

// AskKeys asks a secondary for a zone's DNSKEY and SOA records, and returns the keys as text, the serial and the
// earliest expiry of their signatures.
func AskKeys(ctx context.Context, connect Dial, server Secondary, zone name.Name) (ServedKeys, error) {
	got := ServedKeys{Keys: map[string]bool{}}
	keyAnswer, err := askRRset(ctx, connect, server.Addr, server.Key, zone, mdns.TypeDNSKEY)
	if err != nil {
		return got, err
	}

	for _, record := range keyAnswer.Answer {
		got.noteSignature(record)
		if key, ok := record.(*mdns.DNSKEY); ok {
			got.Keys[fmt.Sprintf("%d %d %s", key.Flags, key.Algorithm, key.PublicKey)] = true
		}
	}

	soaAnswer, err := askRRset(ctx, connect, server.Addr, server.Key, zone, mdns.TypeSOA)
	if err != nil {
		return got, err
	}
	for _, record := range soaAnswer.Answer {
		got.noteSignature(record)
		if soa, ok := record.(*mdns.SOA); ok {
			got.Serial = soa.Serial
		}
	}
	return got, nil
}

type ServedDS struct {
	// TTL is the longest TTL of the DS records.
	Data []string
	TTL  time.Duration
	// NoName is true if the name does not exist. A parent may remove the delegation with the DS.
	NoName bool
}

// AskDS asks the server at for the DS records of a zone, unsigned. A name that does not exist is no error, but NoName.
func AskDS(ctx context.Context, connect Dial, at netip.AddrPort, zone name.Name) (ServedDS, error) {
	var got ServedDS
	answer, err := askRRset(ctx, connect, at, nil, zone, mdns.TypeDS)
	if err != nil {
		return got, err
	}
	got.NoName = answer.Rcode == mdns.RcodeNameError
	for _, record := range answer.Answer {
		if ds, ok := record.(*mdns.DS); ok {
			got.Data = append(got.Data, fmt.Sprintf("%d %d %d %s", ds.KeyTag, ds.Algorithm, ds.DigestType, strings.ToUpper(ds.Digest)))
			got.TTL = max(got.TTL, time.Duration(ds.Hdr.Ttl)*time.Second)
		}
	}
	return got, nil
}

// askRRset asks a server for one RRset over TCP. The answer is authoritative, and signed if key is not nil. A missing
// name is an error, except for DS.
func askRRset(ctx context.Context, connect Dial, at netip.AddrPort, key *transfer.Key, zone name.Name, rrtype uint16) (*mdns.Msg, error) {
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

	question := transfer.NewQuestion(zone, rrtype)
	// DO, for signatures beside the keys. A parent's answer needs none.
	if rrtype != mdns.TypeDS {
		question.SetEdns0(mdns.DefaultMsgSize, true)
	}

	answer, err := transfer.Exchange(ctx, conn, question, key)
	switch {
	case err != nil:
		return nil, withoutPorts(err)
	// NXDOMAIN for DS: the parent has no delegation of the zone any more.
	case answer.Rcode != mdns.RcodeSuccess && !(rrtype == mdns.TypeDS && answer.Rcode == mdns.RcodeNameError):
		return nil, fmt.Errorf("it answers %s to a question for %s %s", mdns.RcodeToString[answer.Rcode], zone, mdns.TypeToString[rrtype])
	// A resolver would answer from its cache, with an old DS or key.
	case !answer.Authoritative:
		return nil, fmt.Errorf("its answer for %s %s is not authoritative", zone, mdns.TypeToString[rrtype])
	}
	return answer, nil
}

// withoutPorts drops the addresses, because the local port would change the status each time.
func withoutPorts(err error) error {
	var failed *net.OpError
	if errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", failed.Op, failed.Err)
	}
	return err
}
