// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"strings"
	"testing"
)

// Names are handled in turns, one of each namespace. A namespace with a thousand names therefore delays the few names
// of another by little (E2).
func TestOrderFairly_sharesByNamespace(t *testing.T) {
	many := func(namespace string, count int) string { return strings.Repeat(namespace, count) }
	for _, c := range []struct {
		all, begins string
		share       int
	}{
		{"", "", 0},
		{"aaabbc", "abcaba", 6},
		{many("a", 1000), "aaa", 1000}, // no other namespace waits
		{many("a", 1000) + "b", "abaa", 65},
		{many("a", 1000) + many("b", 200) + many("c", 200), "abcabc", 600},
	} {
		all := strings.Split(c.all, "")
		if c.all == "" {
			all = nil
		}
		share := orderFairly(all, func(one string) string { return one })
		if ordered := strings.Join(all, ""); share != c.share || !strings.HasPrefix(ordered, c.begins) || len(ordered) != len(c.all) {
			t.Errorf("%.20s: share %d, %.20s", c.all, share, ordered)
		}
	}
}
