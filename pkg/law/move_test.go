// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"testing"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
)

func beginMove(t *testing.T, steps int) (*world, *law.Work) {
	t.Helper()
	w := newWorld()
	if _, refusal := w.putZone(specOf("owner", "org", "org."), true); refusal != nil {
		t.Fatal(refusal)
	}
	if _, refusal := w.putRecord(recordOf("a", "stands", "www.kid.org.", rdata.A, "192.0.2.1")); refusal != nil {
		t.Fatal(refusal)
	}
	w.settleAll()
	if _, refusal := w.putZone(specOf("owner", "kid", "kid.org."), true); refusal != nil {
		t.Fatal(refusal)
	}
	work := w.outbox[0]
	w.beginWork(work)
	for _, c := range w.listCandidates(work) {
		if steps > 0 && !w.stepRecord(work, c, steps) {
			t.Fatal("the record is not between two zones")
		}
	}
	return w, work
}

// The lock holds even before the first arrival.
func TestLock_ofAZoneThatGoesWhileItComes_S2_10(t *testing.T) {
	for steps := range 2 {
		w, _ := beginMove(t, steps)
		w.deleteZone(object{"owner", "kid"})
		if _, refusal := w.putRecord(recordOf("b", "thief", "www.kid.org.", rdata.A, "192.0.2.66")); refusal == nil {
			t.Errorf("after %d steps b takes the name that moves", steps)
		}
		w.settleAll()
		if at := w.records[object{"a", "stands"}].placed.Zone; at == nil || at.Name != "org" {
			t.Errorf("after %d steps the record is in %v", steps, at)
		}
	}
}

func TestLock_keepsARecordOnItsWay_S1_7(t *testing.T) {
	elsewhere := recordOf("a", "stands", "other.org.", rdata.A, "192.0.2.1")
	refuses := func(w *world, when string) {
		t.Helper()
		if _, refusal := w.putRecord(elsewhere); refusal == nil || refusal.Kind != law.Later {
			t.Errorf("%s: %v", when, refusal)
		}
	}
	w, _ := beginMove(t, 1)
	refuses(w, "between both zones")
	w.settleAll()
	w.deleteZone(object{"owner", "kid"})
	refuses(w, "in a zone that is gone")
	w.settleAll()
	if at := w.records[object{"a", "stands"}].placed; at.Zone == nil || at.FQDN.String() != "www.kid.org." {
		t.Errorf("it is at %v", at)
	}
}
