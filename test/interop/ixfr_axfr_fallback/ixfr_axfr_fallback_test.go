// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ixfr_axfr_fallback proves: an IXFR from a serial without a history gets a right answer: the whole zone for
// a client behind, a single SOA for a current client or over UDP (RFC 1995 §2, §4).
package ixfr_axfr_fallback

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func makeZone(serial uint32, hosts int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "example.org. 300 IN SOA ns.example.org. host.example.org. %d 86400 7200 3600000 300\n", serial)
	b.WriteString("example.org. 300 IN NS ns.example.org.\nns.example.org. 300 IN A 192.0.2.1\n")
	for i := range hosts {
		fmt.Fprintf(&b, "h%d.example.org. 300 IN A 10.0.%d.%d\n", i, i>>8, i&255)
	}
	return b.String()
}

func TestDigGetsTheWholeZoneOrOneSOA(t *testing.T) {
	serving := subject.Start(t, primary.Config{}, subject.Zone(t, makeZone(100, 3000)))
	for _, c := range []struct {
		transport, have string
		records         int
	}{
		{"+tcp", "99", 3004}, {"+tcp", "2147483749", 3004}, {"+tcp", "2147483748", 3004},
		{"+tcp", "100", 1}, {"+tcp", "101", 1}, {"+notcp", "100", 1}, {"+notcp", "99", 1},
	} {
		// +noall +answer would hide nothing here: each line is a record.
		out, err := rig.Dig{Server: serving.Addr}.Run(subject.Within(t, 20*time.Second), c.transport, "+tries=1", "+nocomments", "+nocmd", "+nostats", "IXFR="+c.have, "example.org.")
		rig.SkipMissing(t, err)
		if n := strings.Count(out, "\tIN\t"); n != c.records {
			t.Errorf("%s from %s: %d records, want %d", c.transport, c.have, n, c.records)
		}
	}
}

// BIND follows changes by IXFR. It has exactly the new zone after most records were removed, after the serial wraps
// past 2^32, and when no records are left but those of the zone itself.
func TestBINDFollowsByIXFR(t *testing.T) {
	ctx := subject.Within(t, time.Minute)
	at := must.Get(rig.FreePort())(t)
	serving := subject.Start(t, primary.Config{Notify: []primary.Target{{Addr: at}}}, subject.Zone(t, makeZone(4294967294, 3000)))
	bind, err := rig.StartBIND(ctx, rig.BINDConfig{Addr: at, Secondaries: []rig.SecondaryZone{{Zone: "example.org.", Primary: serving.Addr}}})
	rig.SkipMissing(t, err)
	defer bind.Close()
	must.Succeed(t, bind.WaitSerial(ctx, "example.org.", 4294967294))
	for _, step := range []struct {
		serial uint32
		hosts  int
	}{{4294967295, 10}, {1, 2000}, {2, 0}} {
		text := makeZone(step.serial, step.hosts)
		serving.Put(subject.Zone(t, text), true)
		must.Succeed(t, bind.WaitSerial(ctx, "example.org.", step.serial))
		got := must.Get(bind.Transfer(ctx, "example.org."))(t)
		want := must.Get(rig.Canonical(ctx, "example.org.", text))(t)
		subject.SameRecords(t, got, want)
	}
}
