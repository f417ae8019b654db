// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/zoneview"
)

// teller plays the ledger: each start tells what the next function says, then waits for its end.
type teller struct {
	starts []func(ledger.Sink)
	told   chan int
}

func (t *teller) follow(ctx context.Context, sink ledger.Sink) error {
	n := len(t.told)
	if n < len(t.starts) {
		t.starts[n](sink)
	}
	t.told <- n
	<-ctx.Done()
	return ctx.Err()
}

func feeding(t *testing.T, starts ...func(ledger.Sink)) *feed {
	t.Helper()
	tell := &teller{starts: starts, told: make(chan int, 100)}
	f := newFeed(nil, zoneview.NewSet(zoneview.Config{}))
	f.follow, f.pause = tell.follow, time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t, goleak.IgnoreCurrent())
	})
	return f
}

// base is the zone of steps after n of them.
func base(t *testing.T, n int) ledger.Base {
	t.Helper()
	all := steps(t, n)
	set := content.RRset{Owner: name.MustRel("www"), Type: rdata.A, TTL: content.InheritTTL()}
	for _, step := range all[1:] {
		set.Data = append(set.Data, step.Added[0].Data)
	}
	last := all[len(all)-1]
	return ledger.Base{
		Identity: content.Identity{Namespace: "ns", Name: "z"}, Settled: true, Sets: []content.RRset{set},
		Zone: &law.Zone{Ref: law.Ref{Namespace: "ns", Name: "z", UID: uid}, Header: *all[0].HeaderAfter, Serial: last.Serial, N: last.N, State: last.State},
	}
}

func waited(t *testing.T, f *feed) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := f.wait(ctx); err != nil {
		t.Fatal(err)
	}
}

// A listing, then the journal: a zone made, one changed, one gone.
func TestFeed_followsTheStore(t *testing.T) {
	f := feeding(t, func(sink ledger.Sink) {
		sink.Reset()
		sink.Base(base(t, 2))
		sink.Ready()
		sink.Apply(uid, content.Transaction{Steps: steps(t, 3)[3:], Settled: true})
		made := steps(t, 0)
		sink.Apply("v", content.Transaction{Steps: made, Settled: true, Zone: &content.Identity{View: "inside", Namespace: "ns", Name: "v"}})
		sink.Apply("w", content.Transaction{Steps: made, Zone: &content.Identity{Namespace: "ns", Name: "w"}})
		sink.Apply("w", content.Transaction{Gone: true})
	})
	waited(t, f)
	if err := f.check(); err != nil {
		t.Error(err)
	}
	snapshot, err := f.set.Wait(t.Context(), uid, 4)
	if err != nil || snapshot.Serial() != 103 {
		t.Errorf("%v, %v", snapshot, err)
	}
	made, err := f.set.Wait(t.Context(), "v", 1)
	if err != nil || made.Zone() != (zoneview.Zone{UID: "v", View: "inside", Namespace: "ns", Name: "v"}) {
		t.Errorf("%v, %v", made, err)
	}
	if _, ok := f.set.ByUID("w"); ok {
		t.Error("a zone that is gone is still there")
	}
}

// A step that does not fit starts it over; zones that went meanwhile are dropped, and readers see no gap.
func TestFeed_startsOverWhenAStepDoesNotFit(t *testing.T) {
	f := feeding(t,
		func(sink ledger.Sink) {
			sink.Reset()
			sink.Base(base(t, 1))
			sink.Ready()
			sink.Apply("gone", content.Transaction{Steps: steps(t, 0), Settled: true, Zone: &content.Identity{Namespace: "ns", Name: "gone"}})
			sink.Apply(uid, content.Transaction{Steps: steps(t, 5)[5:], Settled: true}) // those between are missing
		},
		func(sink ledger.Sink) {
			sink.Reset()
			sink.Base(base(t, 5))
			sink.Ready()
		},
	)
	if snapshot, err := f.set.Wait(t.Context(), uid, 6); err != nil || snapshot.Serial() != 105 {
		t.Errorf("%v, %v", snapshot, err)
	}
	waited(t, f)
	if _, ok := f.set.ByUID("gone"); ok {
		t.Error("a zone that the second listing does not have is still there")
	}
}

// What is not what its hash says is never ready, and whoever waits is told.
func TestFeed_isNotReadyWithoutProof(t *testing.T) {
	lie := func(sink ledger.Sink) {
		wrong := base(t, 2)
		wrong.Sets[0].Data = wrong.Sets[0].Data[:1]
		sink.Reset()
		sink.Base(wrong)
		sink.Ready()
	}
	f := feeding(t, lie, lie, lie)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := f.wait(ctx)
	if !errors.Is(err, zoneview.ErrMisfit) || !strings.Contains(err.Error(), "kubizone fsck") {
		t.Errorf("wait: %v", err)
	}
	if err := f.check(); err == nil {
		t.Error("ready without a proof")
	}
}

// Records of a zone beside a child's glue make one RRset.
func TestMerged_joinsWhatStandsTogether(t *testing.T) {
	a := content.RRset{Owner: name.MustRel("ns"), Type: rdata.A, TTL: content.InheritTTL(), Data: []string{"192.0.2.1"}}
	b := content.RRset{Owner: name.MustRel("ns"), Type: rdata.A, TTL: content.ExplicitTTL(60), Data: []string{"192.0.2.2"}}
	c := content.RRset{Owner: name.MustRel("ns"), Type: rdata.AAAA, TTL: content.InheritTTL(), Data: []string{"2001:db8::1"}}
	got := merged([]content.RRset{a, b, c})
	if len(got) != 2 || len(got[0].Data) != 2 || got[1].Type != rdata.AAAA {
		t.Errorf("%+v", got)
	}
	if len(a.Data) != 1 {
		t.Error("what was given is changed")
	}
}
