// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

// repeatAfter is the wait for an answer over UDP.
const repeatAfter = 900 * time.Millisecond

type Question struct {
	// Server is HOST:PORT.
	Server string
	Name   name.Name
	Type   rdata.Type
	// Recursive is true for a question to a resolver.
	Recursive bool
}

// Answer may have any RCODE. Records that cannot be parsed are left out.
type Answer struct {
	RCode                         string
	Authoritative                 bool
	Answer, Authority, Additional []zonefile.RR
}

// Ask sends a question, at most three times, until an answer comes or ctx ends.
func Ask(ctx context.Context, q Question) (*Answer, error) {
	message := transfer.NewQuestion(q.Name, uint16(q.Type))
	message.RecursionDesired = q.Recursive
	got, err := sendQuestion(ctx, q.Server, message, nil, repeatAfter)
	if err != nil {
		return nil, err
	}
	return &Answer{RCode: mdns.RcodeToString[got.Rcode], Authoritative: got.Authoritative, Answer: readRRs(got.Answer),
		Authority: readRRs(got.Ns), Additional: readRRs(got.Extra)}, nil
}

func readRRs(section []mdns.RR) (all []zonefile.RR) {
	var text strings.Builder
	for _, rr := range section {
		text.WriteString(rr.String() + "\n")
	}
	for row, err := range zonefile.Read(strings.NewReader(text.String()), zonefile.ReadOptions{Origin: name.Root}) {
		if err == nil {
			all = append(all, row)
		}
	}
	return all
}
