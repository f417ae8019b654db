// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package precedence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRank_earlierPrecedes(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	ranks := []Rank{{true, early, "a"}, {false, late, "a"}, {false, early, "c"}, {false, early, "b"}}
	slices.SortFunc(ranks, Rank.Compare)
	if want := []Rank{{false, early, "b"}, {false, early, "c"}, {false, late, "a"}, {true, early, "a"}}; !slices.Equal(ranks, want) {
		t.Errorf("%v, want %v", ranks, want)
	}
}

// A claimant is written as "id CLAIM ...", in the order of rank. A claim is name=meaning, or +name=meaning if the
// claimant uses the name. +name is a use without a claim.
func TestDecide(t *testing.T) {
	for what, test := range map[string]struct{ claims, has, lost string }{
		"the first has a name":                        {"one www=1; two www=2; three mail=3", "mail:three www:one", "two:one"},
		"one meaning is several claimants'":           {"one key=x; two key=x; three key=y", "key:one", "three:one"},
		"a claimant that lost one name has none":      {"one a=1; two a=2 b=2; three b=3", "a:one b:three", "two:one"},
		"it lost to the earliest that stands against": {"one a=1; two b=2; three b=3 a=3", "a:one b:two", "three:one"},
		"a claimant without names has and loses none": {"one; two a=2", "a:two", ""},
		"the same name means the same to the holder":  {"one a=1; two a=1 b=2; three b=2", "a:one b:two", ""},

		"who uses a name keeps it from who is earlier":        {"one a=1; two +a=2", "a:two", "one:two"},
		"of two that use it the earlier has it":               {"one +a=1; two +a=2; three a=2", "a:one", "two:one three:one"},
		"one that lost another name keeps what it uses":       {"one a=1; two b=2; three +b=3 a=3", "a:one", "two:three three:one"},
		"one that sleeps keeps what it uses":                  {"one a=1; two +a", "", "one:two"},
		"an earlier claimant of the user's meaning has it":    {"one a=2; two +a=2; three a=2", "a:one", ""},
		"two users of one meaning do not wait for each other": {"one +a; two +a=2; three a=2", "a:two", "three:one"},
		"a name of one's own is not lost with another's":      {"one a=1 b=1; two +a=1; three +b=1", "a:one b:one", ""},
	} {
		has, lost := Decide(strings.Split(test.claims, "; "), func(claimant string) map[string]string {
			claims := map[string]string{}
			for _, claim := range strings.Fields(claimant)[1:] {
				if name, meaning, claimed := strings.Cut(strings.TrimPrefix(claim, "+"), "="); claimed {
					claims[name] = meaning
				}
			}
			return claims
		}, func(claimant string) (uses []string) {
			for _, claim := range strings.Fields(claimant)[1:] {
				if name, _, _ := strings.Cut(claim, "="); name[0] == '+' {
					uses = append(uses, name[1:])
				}
			}
			return uses
		})
		id := func(claimant string) string { return strings.Fields(claimant)[0] }
		var gotHas, gotLost []string
		for _, name := range slices.Sorted(maps.Keys(has)) {
			gotHas = append(gotHas, name+":"+id(has[name]))
		}
		for _, at := range slices.Sorted(maps.Keys(lost)) {
			gotLost = append(gotLost, fmt.Sprint(id(strings.Split(test.claims, "; ")[at]), ":", id(lost[at])))
		}
		if strings.Join(gotHas, " ") != test.has || strings.Join(gotLost, " ") != test.lost {
			t.Errorf("%s: %s: has %q, lost %q", what, test.claims, gotHas, gotLost)
		}
	}
}
