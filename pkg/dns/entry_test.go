// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// An entry is printed as a line of a zone file, with tabs between name, TTL, class, type and data (RFC 1035 §5.1).
// Printing into an existing buffer allocates nothing.
func TestEntry_line(t *testing.T) {
	for _, tc := range []struct {
		entry Entry
		want  string
	}{
		{Entry{name.MustParse("www.example.org."), rdata.A, 300, "192.0.2.1"}, "www.example.org.\t300\tIN\tA\t192.0.2.1"},
		{Entry{name.Root, rdata.NS, 1<<31 - 1, "a.root-servers.net."}, ".\t2147483647\tIN\tNS\ta.root-servers.net."},
		{Entry{name.MustParse("*.a."), 65280, 0, `\# 0`}, "*.a.\t0\tIN\tTYPE65280\t\\# 0"},
	} {
		if got := tc.entry.String(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
		if got := string(tc.entry.AppendText([]byte("x"))); got != "x"+tc.want {
			t.Errorf("appended %q", got)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		var space [256]byte
		Entry{name.Root, rdata.A, 300, "192.0.2.1"}.AppendText(space[:0])
	}); n != 0 {
		t.Errorf("appending allocates %v times", n)
	}
}
