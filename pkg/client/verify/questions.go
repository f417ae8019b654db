// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

const (
	answerTimeout = 2 * time.Second
	attempts      = 3
	// payload is the largest answer that is not fragmented, in octets.
	payload = 1232
)

func (z *Zone) askEach(ctx context.Context, server string, signs *transfer.Key) (*Zone, error) {
	got := &Zone{FQDN: z.FQDN, sets: make(map[key]set)}
	order := slices.SortedFunc(maps.Keys(z.sets), compareKeys)
	soa := key{z.FQDN, rdata.SOA}
	for _, k := range append([]key{soa}, order...) {
		if k == soa && got.Serial != 0 {
			continue
		}
		answer, err := sendQuestion(ctx, server, transfer.NewQuestion(k.name, uint16(k.t)), signs, answerTimeout)
		if err != nil {
			return nil, fmt.Errorf("question for %s %s: %w", k.name, k.t, err)
		}
		if err := z.takeAnswer(got, k, answer); err != nil {
			return nil, fmt.Errorf("answer for %s %s: %w", k.name, k.t, err)
		}
		if k == soa && got.Serial == 0 {
			return nil, fmt.Errorf("the server answers %s without the SOA of the zone; it does not serve it",
				mdns.RcodeToString[answer.Rcode])
		}
	}
	return got, nil
}

// takeAnswer adds the RRset of an answer to the zone received so far. At or below a cut, the answer may be a referral
// with the RRset in another section (RFC 1034 §4.3.2, 3b).
func (z *Zone) takeAnswer(received *Zone, question key, answer *mdns.Msg) error {
	if answer.Rcode != mdns.RcodeSuccess && answer.Rcode != mdns.RcodeNameError {
		return fmt.Errorf("the server answers %s", mdns.RcodeToString[answer.Rcode])
	}
	if !answer.Authoritative && !z.delegated(question) {
		return errors.New("it is not authoritative; the server does not serve the zone itself")
	}

	var text strings.Builder
	for _, rr := range slices.Concat(answer.Answer, answer.Ns, answer.Extra) {
		// The SOA of a negative answer has another TTL (RFC 2308 §3).
		if mdns.CanonicalName(rr.Header().Name) == question.name.String() && rr.Header().Rrtype == uint16(question.t) {
			text.WriteString(rr.String() + "\n")
		}
	}

	for row, err := range zonefile.Read(strings.NewReader(text.String()), zonefile.ReadOptions{}) {
		if err != nil {
			return err
		}
		received.add(row)
	}

	if question.t == rdata.SOA {
		received.Serial, _ = transfer.SerialIn(answer, z.FQDN)
	}
	return nil
}

func (z *Zone) delegated(k key) bool {
	for at := k.name; at != z.FQDN && z.FQDN.Encloses(at); at, _ = at.Parent() {
		if _, cut := z.sets[key{at, rdata.NS}]; cut {
			return at != k.name || k.t != rdata.DS
		}
	}
	return false
}

func sendQuestion(ctx context.Context, server string, question *mdns.Msg, signs *transfer.Key, repeatAfter time.Duration) (
	*mdns.Msg, error) {
	question.SetEdns0(payload, false)
	var last error
	network, wait := "udp", repeatAfter
	for range attempts {
		asked := question.Copy()
		asked.Id = mdns.Id()
		answer, err := exchangeOnce(ctx, network, server, wait, asked, signs)
		switch {
		case err == nil && answer.Truncated && network == "udp":
			network, wait = "tcp", answerTimeout
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		last = err
	}
	if last == nil {
		last = errors.New("the answer is cut over TCP, too")
	}
	return nil, last
}

func exchangeOnce(ctx context.Context, network, server string, wait time.Duration, asked *mdns.Msg, signs *transfer.Key) (*mdns.Msg,
	error) {
	dialing, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(dialing, network, server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	return transfer.Exchange(ctx, conn, asked, signs)
}
