// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outsider_refused proves: a client at an address that is not allowed is REFUSED for every query, with equal
// answers for served and unknown zones.
package outsider_refused

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/rig"
)

const zone = `example.org. 300 IN SOA ns.example.org. host.example.org. 7 86400 7200 3600000 300
example.org. 300 IN NS ns.example.org.
ns.example.org. 300 IN A 192.0.2.1
`

var passing = regexp.MustCompile(`id: \d+|COOKIE: \w+|;; (Query time|WHEN|SERVER|MSG SIZE).*`)

func TestSameRefusalForZonesHereAndNot(t *testing.T) {
	serving := subject.Start(t, primary.Config{}, subject.Zone(t, zone))
	ask := func(client rig.Dig, args ...string) string {
		out := rig.Need(client.Run(subject.Within(t, 20*time.Second), append([]string{"+tries=1", "+norecurse"}, args...)...))(t)
		return passing.ReplaceAllString(out, "")
	}
	outsider := rig.Dig{Server: serving.Addr, Source: subject.Outside}
	for _, question := range [][]string{
		{"+notcp", "SOA"}, {"+tcp", "SOA"}, {"+notcp", "ANY"}, {"+tcp", "NS"}, {"+notcp", "A"}, {"+notcp", "IXFR=3"}, {"+tcp", "IXFR=3"}, {"+tcp", "AXFR"},
	} {
		here := ask(outsider, append(question, "example.org.")...)
		absent := ask(outsider, append(question, "example.net.")...)
		if strings.ReplaceAll(here, "example.org", "example.net") != absent {
			t.Errorf("%v: a zone that is here is answered with\n%s\none that is not with\n%s", question, here, absent)
		}
		// dig prints nothing for a refused IXFR over UDP.
		silent := strings.HasPrefix(question[1], "IXFR") && !strings.Contains(here, "SOA")
		if !strings.Contains(here, "status: REFUSED") && !strings.Contains(here, "Transfer failed") && !silent {
			t.Errorf("%v: not refused:\n%s", question, here)
		}
	}
	// An allowed address gets answers, so the test can fail.
	peer := rig.Dig{Server: serving.Addr}
	if out := ask(peer, "+notcp", "SOA", "example.org."); !strings.Contains(out, "status: NOERROR") {
		t.Errorf("an allowed peer:\n%s", out)
	}
}

// nsupdate without an update key changes nothing, from any address.
func TestUpdate_unsignedIsRefused(t *testing.T) {
	ctx := subject.Within(t, 20*time.Second)
	serving := subject.Start(t, primary.Config{}, subject.Zone(t, zone))
	_, err := rig.Nsupdate(ctx, serving.Addr, nil, "zone example.org.\nupdate add evil.example.org. 300 A 192.0.2.66\nsend\n")
	if _, missing := err.(*rig.Missing); missing {
		rig.SkipMissing(t, err)
	}
	if err == nil || !strings.Contains(err.Error(), "REFUSED") {
		t.Errorf("nsupdate: %v", err)
	}
}
