// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"testing"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/law/zones"
)

// While a zone is removed, the names below it are locked until the Records have moved. A Record already waiting at such
// a name keeps waiting if another cascade tries the Record. The status must not say "moving", because moving Records
// may pass the lock.
func TestLock_takesNothingThatWaitsForWhatMoves_S2_11(t *testing.T) {
	w := newWorld()
	put := func(r law.Record) {
		t.Helper()
		if _, refusal := w.putRecord(r); refusal != nil {
			t.Fatal(refusal)
		}
	}
	put(recordOf("b", "waits", "www.kid.org.", rdata.TXT, "x")) // no zone encloses it yet
	for _, spec := range []zones.ZoneSpec{specOf("owner", "org", "org."), specOf("owner", "kid", "kid.org.")} {
		if _, refusal := w.putZone(spec, true); refusal != nil {
			t.Fatal(refusal)
		}
	}
	put(recordOf("owner", "stands", "www.kid.org.", rdata.A, "192.0.2.1"))
	w.deleteZone(object{"owner", "kid"})
	for range 2 {
		ask := w.askAgain(object{"b", "waits"}, nil)
		if ask.HadZone {
			t.Fatal("what waits is taken for what moves")
		}
		out := w.decideAll(func(s *law.Facts) law.Outcome { return records.DecideRecord(s, ask) })
		if p := out.Plan; p == nil || p.Record.Zone != nil || p.Record.Reason != law.ReasonNameHeld || p.Waiting == nil {
			t.Fatalf("%+v %+v", p.Record, p.Waiting)
		}
		r := w.records[object{"b", "waits"}]
		r.placed, r.waits = *out.Plan.Record, out.Plan.Waiting
	}
}
