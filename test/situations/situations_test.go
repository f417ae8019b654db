// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package situations

import (
	"strconv"
	"testing"

	"kubi.zone/kubizone/test/must"
)

func TestPage_hasItsSituations(t *testing.T) {
	all := must.Get(Read("../../docs/situations.md"))(t)
	if len(all) != 28 {
		t.Errorf("there are %d situations, want 28", len(all))
	}
	for i, s := range all {
		if s.Number != strconv.Itoa(i+1) || len(s.Rules) == 0 || s.Answer == "" {
			t.Errorf("situation %s (%s), the %dth, cites %q and is answered by %q", s.Number, s.Title, i+1, s.Rules, s.Answer)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct{ command, answer, want string }{
		{"record", "adopted a.example., serial 1, in zone example. by delegation pattern \"*\"\n", "taken\n"},
		{"record", "a.example. in own/zone, serial 1\nwarning: S4.8: beside\nwarning: S4.8: again\nwarning: S4.18: (S4.9)\n",
			"taken, Warning by S4.8, Warning by S4.18\n"},
		{"record", "403 Forbidden NameHeld: a.example. is claimed (" + "S4.8, S4.9)\n", "refused 403, rule S4.8\n"},
		{"record", "403 Forbidden: records \"a\": zone example. does not delegate it\n", "refused 403\n"},
		{"record", "in no zone: NameHeld: held (" + "S4.8)\n", "waits, reason NameHeld\n"},
		{"record", "stored, not adopted: NameHeld: held\nwarning: S4.8: held\n", "waits, reason NameHeld\n"},
		{"zone", "zone example. serial 1, Delegated=True Standalone, Servable=True Servable\n", "taken\n"},
		{"zone", "example. serial 1, 3 entries, not settled\n", "taken\n"},
		{"zone", "pending: ZoneNotFound: there is none\n", "waits, reason ZoneNotFound\n"},
		{"delete", "zone example. serial 2, Delegated=True Standalone, Servable=True Servable\n", "gone\n"},
		{"delete", "gone\n", "gone\n"},
		{"delegation", "Accepted: the rules are in force in zone example.\n", "taken\n"},
		{"delegation", "True Accepted by main\n", "taken\n"},
		{"delegation", "False ZoneNotFound\n", "waits, reason ZoneNotFound\n"},
		{"settle", "zone own/main: zone example. serial 2\n", ""},
	} {
		if got := Shorten(c.command, c.answer); got != c.want {
			t.Errorf("%s: %q is %q, want %q", c.command, c.answer, got, c.want)
		}
	}
}
