// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
)

// A write that does not fit into a transaction is refused for now while cascades have a share in that, and for good
// where none has.
func TestTooManyFacts_forNowWhileACascadeBrings(t *testing.T) {
	t.Parallel()
	top, err := name.Parse("org.")
	if err != nil {
		t.Fatal(err)
	}
	seen, w := law.NewSeen(), &Write{Resource: "records", Name: "r"}
	works := []law.StandingWork{{ID: "settles"}}
	seen.Put(law.HoldingKey("", top), &law.Holding{Outstanding: law.Outstanding{Works: works}})
	if err := tooManyFacts(w, seen, 100, 90); !apierrors.IsInvalid(err) {
		t.Error(err)
	}
	works = append(works, law.StandingWork{ID: "brings", Losing: "uid", LosingFQDN: top})
	seen.Put(law.HoldingKey("", top), &law.Holding{Outstanding: law.Outstanding{Works: works}})
	err = tooManyFacts(w, seen, 100, 90)
	if seconds, again := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !again || seconds < 1 {
		t.Error(err)
	}
}
