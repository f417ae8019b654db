// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"

	"kubi.zone/kubizone/pkg/zone/law/content"
)

// A Delegation counts as deleted with its zone if one act deleted both. A Delegation revoked before does not return.
func TestWentWith(t *testing.T) {
	removal := &content.Removal{By: "alice", Time: 10_000}
	for what, x := range map[string]struct {
		old  OldDelegation
		want bool
	}{
		"with the removal":               {OldDelegation{Time: 10_000}, true},
		"after the removal":              {OldDelegation{Time: 10_060, By: "bob"}, true},
		"by kubectl delete -f":           {OldDelegation{Time: 9_995, By: "alice"}, true},
		"with the namespace":             {OldDelegation{Time: 9_500, By: "controller", Ends: true}, true},
		"long before, in a namespace":    {OldDelegation{Time: 9_000, By: "controller", Ends: true}, false},
		"revoked five minutes before":    {OldDelegation{Time: 9_700, By: "alice"}, false},
		"revoked by another user":        {OldDelegation{Time: 9_999, By: "bob"}, false},
		"revoked in the same second":     {OldDelegation{Time: 10_000, By: "bob"}, false},
		"by a cascade before, as a move": {OldDelegation{Time: 9_999}, false},
	} {
		if got := x.old.wentWith(removal); got != x.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
