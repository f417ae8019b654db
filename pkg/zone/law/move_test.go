// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"testing"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

func beginMove(t *testing.T, steps int) (*world, *law.Work) {
	t.Helper()
	w := newWorld()
	mustAccept(w.putZone(specOf("owner", "org", "org."), true))(t)
	mustAccept(w.putRecord(recordOf("a", "stands", "www.kid.org.", rdata.A, "192.0.2.1")))(t)
	w.settleAll()
	mustAccept(w.putZone(specOf("owner", "kid", "kid.org."), true))(t)
	work := w.outbox[0]
	w.beginWork(work)
	for _, c := range w.listCandidates(work) {
		if steps == 0 {
			continue
		}
		if moves, _ := w.stepRecord(work, c, steps); !moves {
			t.Fatal("the record is not between two zones")
		}
	}
	return w, work
}

// The lock holds even before the first record has arrived.
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

// Records that move between zones are protected by a lock of one cascade. Any other cascade leaves such a Record in the
// old zone, for the cascade with the lock to find and move.
func TestLock_letsItsOwnCascadeMoveRecords_S2_9(t *testing.T) {
	w, work := beginMove(t, 0)
	c := w.listCandidates(work)[0]
	other := &law.Work{ID: "other", By: "owner", Since: w.now.Unix()}
	if _, locked := w.stepRecord(other, c, 1); !locked || w.zoneNameOf("a", "stands") != "org" {
		t.Errorf("locked %v, the record is in zone %q", locked, w.zoneNameOf("a", "stands"))
	}
	w.settleAll()
	if at := w.zoneNameOf("a", "stands"); at != "kid" {
		t.Errorf("the record is in zone %q", at)
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

// chain is a world where the records of a removed zone are on their way to a zone that is removed as well.
type chain struct {
	*world
	t        *testing.T
	low, mid *law.Work
	rest     []candidate // of low
}

// newChain creates the zone x.kid.org below kid.org, with or without org above, and removes both zones when the first
// of the records has moved.
func newChain(t *testing.T, above bool, all ...law.Record) *chain {
	t.Helper()
	c := &chain{world: newWorld(), t: t}
	if above {
		c.mustZone("owner", "org", "org.")
	}
	c.mustZone("owner", "kid", "kid.org.")
	c.mustZone("a", "low", "x.kid.org.")
	c.settleAll()
	for _, r := range all {
		mustAccept(c.putRecord(r))(t)
	}
	c.deleteZone(object{"a", "low"})
	c.low = c.outbox[0]
	c.beginWork(c.low)
	c.rest = c.listCandidates(c.low)
	c.reconsiderRecord(c.low, c.rest[0])
	c.rest = c.rest[1:]
	c.deleteZone(object{"owner", "kid"})
	c.mid = c.outbox[1]
	return c
}

// mustZone makes a zone with rules for the namespace c, too.
func (c *chain) mustZone(ns, object, domain string) {
	c.t.Helper()
	spec := specOf(ns, object, domain)
	also := allowEverything()[0]
	also.Namespaces = []string{"c"}
	spec.Rules = append(spec.Rules, also)
	mustAccept(c.putZone(spec, true))(c.t)
}

func (w *world) zoneNameOf(ns, record string) string {
	if z := w.records[object{ns, record}].placed.Zone; z != nil {
		return z.Name
	}
	return ""
}

// While records move to a zone, that zone is removed, too. The records that have arrived and the records still on their
// way move on in a single order by age, whichever cascade runs first.
func TestMove_hasOneOrderIfItsZoneGoesToo_S2_9(t *testing.T) {
	for _, above := range []bool{true, false} {
		for _, first := range []string{"low", "mid"} {
			c := newChain(t, above, recordOf("b", "older", "pay.x.kid.org.", rdata.A, "192.0.2.1"),
				recordOf("a", "younger", "www.pay.x.kid.org.", rdata.A, "192.0.2.1"))
			takes := "org"
			if !above {
				c.mustZone("owner", "kid", "kid.org.") // joins
				takes = "kid"
			}
			if first == "low" && c.reconsiderRecord(c.low, c.rest[0]) {
				t.Errorf("above %v: the cascade without a lock brings its record", above)
			}
			if first == "mid" && !c.processWork(c.outbox[len(c.outbox)-1]) {
				t.Errorf("above %v: the cascade with the lock waits", above)
			}
			c.settleAll()
			if at := c.zoneNameOf("b", "older"); at != takes {
				t.Errorf("above %v, %s first: the older record is in zone %q", above, first, at)
			}
			if at := c.zoneNameOf("a", "younger"); at != "" {
				t.Errorf("above %v, %s first: the younger record is in zone %q", above, first, at)
			}
		}
	}
}

// While records move to a zone, that zone is removed, too. No name becomes free before its record has arrived, even if
// the cascade of the next zone finishes first.
func TestLock_coversWhatWasOnItsWayToAZoneThatGoes_S2_10(t *testing.T) {
	for _, above := range []bool{true, false} {
		c := newChain(t, above, recordOf("b", "came", "came.x.kid.org.", rdata.A, "192.0.2.1"),
			recordOf("b", "comes", "comes.x.kid.org.", rdata.A, "192.0.2.1"))
		takes := "org"
		if !above {
			c.mustZone("owner", "kid", "kid.org.")
			takes = "kid"
		}
		for _, step := range []string{"before", "after"} {
			if _, refusal := c.putRecord(recordOf("c", "thief", "comes.x.kid.org.", rdata.A, "192.0.2.66")); refusal == nil {
				t.Fatalf("above %v: c takes the name %s the cascade of the lock", above, step)
			}
			if step == "before" {
				c.processWork(c.outbox[len(c.outbox)-1])
			}
		}
		c.settleAll()
		if at := c.zoneNameOf("b", "comes"); at != takes {
			t.Errorf("above %v: the record is in zone %q", above, at)
		}
	}
}

// A zone without a zone above is deleted, and created again when only some of its records have been released. All
// records return in the order of age, so that none loses its name to a younger record. A record renamed in the meantime
// does not take the name of another.
func TestMove_bringsReleasedRecordsBackInOrder_S2_10(t *testing.T) {
	begin := func(first, second law.Record) *world {
		w := newWorld()
		_, _ = w.putZone(specOf("a", "kid", "kid.org."), true)
		_, _ = w.putRecord(first)
		_, _ = w.putRecord(second)
		w.settleAll()
		w.deleteZone(object{"a", "kid"})
		work := w.outbox[0]
		w.beginWork(work)
		w.reconsiderRecord(work, w.listCandidates(work)[0])
		return w
	}
	remake := func(w *world) {
		mustAccept(w.putZone(specOf("owner", "kid", "kid.org."), true))(t)
		w.settleAll()
	}
	t.Run("the older first", func(t *testing.T) {
		w := begin(recordOf("b", "older", "pay.kid.org.", rdata.A, "192.0.2.1"),
			recordOf("a", "younger", "www.pay.kid.org.", rdata.A, "192.0.2.1"))
		remake(w)
		if at := w.zoneNameOf("b", "older"); at != "kid" {
			t.Errorf("the older record is in zone %q: the younger took its place", at)
		}
	})
	t.Run("not under another name", func(t *testing.T) {
		w := begin(recordOf("a", "older", "old.kid.org.", rdata.A, "192.0.2.1"),
			recordOf("b", "younger", "pay.kid.org.", rdata.A, "192.0.2.1"))
		mustAccept(w.putRecord(recordOf("a", "older", "pay.kid.org.", rdata.A, "192.0.2.66")))(t)
		remake(w)
		if at := w.zoneNameOf("b", "younger"); at != "kid" {
			t.Errorf("the record is in zone %q: a took its name", at)
		}
	})
}

// While a zone is removed, the names below it are locked until the Records have moved. A Record already waiting at such
// a name keeps waiting if another cascade tries the Record. The status must not say "moving", because moving Records
// may pass the lock.
func TestLock_takesNothingThatWaitsForWhatMoves_S2_11(t *testing.T) {
	w := newWorld()
	put := func(r law.Record) {
		t.Helper()
		mustAccept(w.putRecord(r))(t)
	}
	put(recordOf("b", "waits", "www.kid.org.", rdata.TXT, "x")) // no zone encloses it yet
	for _, spec := range []zones.ZoneSpec{specOf("owner", "org", "org."), specOf("owner", "kid", "kid.org.")} {
		mustAccept(w.putZone(spec, true))(t)
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
