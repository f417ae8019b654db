// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromjournal

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/steps"
)

// scriptedLedger is a fake ledger. Each start calls the next function.
type scriptedLedger struct {
	starts   []func(ledger.Sink)
	reported chan int
}

func (t *scriptedLedger) notifySink(ctx context.Context, sink ledger.Sink) error {
	n := len(t.reported)
	if n < len(t.starts) {
		t.starts[n](sink)
	}
	t.reported <- n
	<-ctx.Done()
	return ctx.Err()
}

type fed struct {
	*Source
	set *zoneview.Set
}

func startFeed(t *testing.T, starts ...func(ledger.Sink)) *fed {
	t.Helper()
	report := &scriptedLedger{starts: starts, reported: make(chan int, 100)}
	set := zoneview.NewSet(zoneview.Config{})
	f := &fed{New(nil, set), set}
	f.follow, f.pause = report.notifySink, time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t, goleak.IgnoreCurrent())
	})
	return f
}

func makeBase(t *testing.T, n int) ledger.Base {
	t.Helper()
	all := steps.Make(t, n)
	set := content.RRset{Owner: name.MustRel("www"), Type: rdata.A, TTL: content.InheritTTL()}
	for _, step := range all[1:] {
		set.Data = append(set.Data, step.Added[0].Data)
	}
	last := all[len(all)-1]
	return ledger.Base{
		Identity: content.Identity{Namespace: "ns", Name: "z"}, Settled: true, RRsets: []content.RRset{set},
		Zone: &law.Zone{Ref: law.Ref{Namespace: "ns", Name: "z", UID: uid}, Header: *all[0].HeaderAfter, Serial: last.Serial, N: last.N, State: last.State},
	}
}

func waitForFeed(t *testing.T, f *fed) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must.Succeed(t, f.Wait(ctx))
}

// If a step does not fit, the source lists all zones again. Zones that were deleted meanwhile leave the Set, and
// readers that wait for a serial get it.
func TestSource_startsOverWhenAStepDoesNotFit(t *testing.T) {
	f := startFeed(t,
		func(sink ledger.Sink) {
			sink.Reset()
			sink.Base(makeBase(t, 1))
			sink.Ready()
			sink.Apply("gone", content.Transaction{Steps: steps.Make(t, 0), Settled: true, Zone: &content.Identity{Namespace: "ns",
				Name: "gone"}})
			sink.Apply(uid, content.Transaction{Steps: steps.Make(t, 5)[5:], Settled: true}) // the steps between are missing
		},
		func(sink ledger.Sink) {
			sink.Reset()
			sink.Base(makeBase(t, 5))
			sink.Ready()
		},
	)
	if snapshot, err := f.set.Wait(t.Context(), uid, 6); err != nil || snapshot.Serial() != 105 {
		t.Errorf("%v, %v", snapshot, err)
	}
	waitForFeed(t, f)
	if _, ok := f.set.ByUID("gone"); ok {
		t.Error("a zone that the second listing does not have is still there")
	}
}

// If a server starts while a zone is unsettled, it undoes the undelivered steps of the journal and serves the last
// settled content. If steps are missing, it serves nothing of the zone until the next settled state, but the Set has
// the newest content (S7.2, S7.5).
func TestSource_startsAtWhatIsDelivered_S7_8(t *testing.T) {
	for what, damage := range map[string]func(*ledger.Base){
		"whole": func(*ledger.Base) {}, "trimmed": func(b *ledger.Base) { b.UndeliveredSteps = nil }, "damaged": func(b *ledger.Base) { b.UndeliveredSteps = b.UndeliveredSteps[:1] },
	} {
		t.Run(what, func(t *testing.T) {
			f := startFeed(t, func(sink ledger.Sink) {
				b := makeBase(t, 4)
				b.Settled, b.UndeliveredSteps = false, steps.Make(t, 4)[3:]
				damage(&b)
				sink.Reset()
				sink.Base(b)
				sink.Ready()
				sink.Apply(uid, content.Transaction{Steps: steps.Make(t, 5)[5:]})
			})
			waitForFeed(t, f)
			must.Eventually(t, "the newest content comes", func() bool { newest, ok := f.set.ByUID(uid); return ok && newest.Serial() == 105 })
			if err := f.FrozenReason(uid); err != nil {
				t.Error(err)
			}
			settled, ok := f.set.Settled(uid)
			if ok != (what == "whole") || ok && (settled.Serial() != 102 || settled.Prove() != nil) {
				t.Errorf("delivered is %v", settled)
			}
			if steps, err := f.set.Changes(uid, 102, 105); what == "whole" && (err != nil || len(steps) != 3) {
				t.Errorf("%d steps since what is delivered, %v", len(steps), err)
			}
		})
	}
}

// A Zone whose hash does not match its content is frozen under its UID. A Zone that cannot be decoded is frozen under
// its object name.
func TestSource_freezesADamagedHeaderAndAnUnreadableZone(t *testing.T) {
	f := startFeed(t, func(sink ledger.Sink) {
		sink.Reset()
		wrong := makeBase(t, 2)
		wrong.Hash = strings.Repeat("0", 64)
		sink.Base(wrong)
		sink.Unreadable("ns", "broken", errors.New("not protobuf"))
		sink.Ready()
	})
	waitForFeed(t, f)
	if f.FrozenReason(uid) == nil || f.FrozenReason("ns/broken") == nil || len(f.FrozenZones()) != 2 {
		t.Errorf("frozen: %v", f.FrozenZones())
	}
}

// If the steps of a zone never fit, the zone is frozen after a few restarts. Its last good content is still served, and
// the feed of all other zones continues.
func TestSource_freezesAZoneWhoseStepsNeverFit(t *testing.T) {
	var proven sync.Once
	misfit := func(sink ledger.Sink) {
		sink.Reset()
		sink.Base(makeBase(t, 1))
		sink.Ready()
		// A proof of an earlier state, still in progress, must not end the restart after the last misfit.
		proven.Do(func() { must.Eventually(t, "the proof ends", func() bool { return sink.(*pass).Check() == nil }) })
		sink.Apply(uid, content.Transaction{Steps: steps.Make(t, 5)[5:], Settled: true})
	}
	f := startFeed(t, misfit, misfit, misfit)
	must.Eventually(t, "the zone is frozen", func() bool { return f.FrozenReason(uid) != nil })
	if snapshot, ok := f.set.Settled(uid); !ok || snapshot.Serial() != 101 {
		t.Errorf("%v, %v", snapshot, ok)
	}
	waitForFeed(t, f)
}

// RRsets with the same owner and type are merged, such as a zone's own Records and the glue of a child. The input is
// not changed.
func TestMergeRRsets_joinsNeighbours(t *testing.T) {
	a := content.RRset{Owner: name.MustRel("ns"), Type: rdata.A, TTL: content.InheritTTL(), Data: []string{"192.0.2.1"}}
	b := content.RRset{Owner: name.MustRel("ns"), Type: rdata.A, TTL: content.ExplicitTTL(60), Data: []string{"192.0.2.2"}}
	c := content.RRset{Owner: name.MustRel("ns"), Type: rdata.AAAA, TTL: content.InheritTTL(), Data: []string{"2001:db8::1"}}
	got := mergeRRsets([]content.RRset{a, b, c})
	if len(got) != 2 || len(got[0].Data) != 2 || got[1].Type != rdata.AAAA {
		t.Errorf("%+v", got)
	}
	if len(a.Data) != 1 {
		t.Error("what was given is changed")
	}
}

const uid = "u"
