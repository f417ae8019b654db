// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/fsck"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// revisions are those of the records, by namespace and name.
func revisions(t *testing.T, st *store.Store) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	prefix := layout.Keys{Prefix: st.Prefix}.Objects("records")
	for _, kv := range store.Must(st.Client.Client.Get(t.Context(), prefix, clientv3.WithPrefix())).Kvs {
		out[strings.TrimPrefix(string(kv.Key), prefix)] = kv.ModRevision
	}
	return out
}

// refusedIn are the records that fsck lists as refused.
func refusedIn(st *store.Store, r fsck.Report) map[string]fsck.Finding {
	out := map[string]fsck.Finding{}
	for _, f := range r.Refused.List {
		out[strings.TrimPrefix(f.Key, layout.Keys{Prefix: st.Prefix}.Objects("records"))] = f
	}
	return out
}

// released are the records that the migration lets go.
func released(all map[string]int64) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(r string) bool {
		return !strings.Contains(r, "/bad-") && r != "tenant/crowded-099" && r != "platform/crowded-098"
	})
}

// told are the records that the server was told of.
type told struct {
	sync.Mutex
	of map[string]*v1alpha1.Record
}

func (e *told) config(c *ledger.Config) {
	c.Now = func() time.Time { return time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC) } // serials come by counting, not by the date
	c.Released = func(r *v1alpha1.Record) {
		e.Lock()
		defer e.Unlock()
		if e.of == nil {
			e.of = map[string]*v1alpha1.Record{}
		}
		e.of[r.Namespace+"/"+r.Name] = r
	}
}

// isReleased fails the test unless the records that are refused now are in no zone, their owners told and fsck lists
// them, and the others are as they were.
func isReleased(t *testing.T, st *store.Store, s *store.Server, before map[string]int64, events *told) {
	t.Helper()
	gone, listed := released(before), refusedIn(st, st.Fsck())
	for key, rev := range revisions(t, st) {
		ns, name, _ := strings.Cut(key, "/")
		r := s.Record(ns, name)
		adopted := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted)
		if !slices.Contains(gone, key) {
			if rev != before[key] {
				t.Errorf("%s was written: %s %s: %+v", key, r.Spec.Type, r.Spec.Values, adopted)
			}
			if listed[key].Key != "" || events.of[key] != nil {
				t.Errorf("%s is told to be refused: %+v", key, listed[key])
			}
			continue
		}
		reason := v1alpha1.ReasonValidationFailed
		if typ := store.Must(rdata.ParseType(r.Spec.Type)); typ.ByNumber() && typ.CheckRecord() == nil && !strings.Contains(key, "crowded") {
			reason = v1alpha1.ReasonDelegationWithdrawn // a rule is what it lacks (S4.3)
		}
		if adopted == nil || adopted.Status != "False" || adopted.Reason != reason || r.Status.ZoneRef != nil {
			t.Errorf("%s %s %s: %+v", key, r.Spec.Type, r.Spec.Values, adopted)
			continue
		}
		if e := events.of[key]; e == nil || meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionAdopted).Message != adopted.Message {
			t.Errorf("%s: no owner was told", key)
		}
		if f := listed[key]; f.Want != adopted.Message {
			t.Errorf("fsck does not list %s: %+v", key, f)
		}
	}
}

// Migration 6: what an earlier version took in and is refused now leaves its zone, with one change of what is delivered
// of it; nothing else is touched; owners are told why; fsck lists it before and after.
func TestMigration6_releasesWhatIsRefused_S5_9(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	st.LoadFormat1()
	before, config := revisions(t, st), configOf(t, st)
	gone := released(before)
	listed := refusedIn(st, st.Fsck())
	if len(listed) != len(gone) {
		t.Errorf("before: fsck lists %d, not %d", len(listed), len(gone))
	}
	for _, r := range gone {
		if f, ok := listed[r]; !ok || !strings.Contains(f.Have, "adopted by zone") {
			t.Errorf("before: fsck does not list %s: %v", r, f)
		}
	}
	if config["format"] != float64(1) {
		t.Fatalf("the store is of format %v", config["format"])
	}
	var events told
	s := st.Server(ledger.Migrations(), events.config)
	says(t, st, ledger.Format, ledger.LeastReader())
	if r := st.Fsck(); !r.Clean() || len(refusedIn(st, r)) != len(gone) {
		t.Fatalf("before they are released: %s", store.Text(r))
	}
	zones := map[string]*v1alpha1.Zone{}
	for _, z := range []string{"bad", "one", "good", "crowded"} {
		zones[z] = s.Zone("platform", z)
	}
	delivered := map[string][]int64{}
	watching, cancel := context.WithCancel(t.Context())
	changes := st.Client.Client.Watch(watching, layout.Keys{Prefix: st.Prefix}.Objects("zones"), clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-changes
	s.Run()
	st.Settle()
	rev := store.Must(st.Client.Client.Put(t.Context(), layout.Keys{Prefix: st.Prefix}.Objects("zones")+"end", "")).Header.Revision
	store.Must(st.Client.Client.Delete(t.Context(), layout.Keys{Prefix: st.Prefix}.Objects("zones")+"end"))
	for seen := int64(0); seen < rev; {
		for _, e := range (<-changes).Events {
			z := &v1alpha1.Zone{}
			if seen = e.Kv.ModRevision; seen >= rev || store.Codec().Decode(t.Context(), string(e.Kv.Key), e.Kv.Value, seen, z) != nil {
				continue
			}
			if d := delivered[z.Name]; len(d) == 0 || d[len(d)-1] != z.Status.SettledSerial {
				delivered[z.Name] = append(d, z.Status.SettledSerial)
			}
		}
	}
	cancel()
	for name, was := range zones {
		now := s.Zone("platform", name)
		switch d := delivered[name]; {
		case name == "good":
			if now.ResourceVersion != was.ResourceVersion {
				t.Errorf("zone %s was written", name)
			}
		case len(d) > 0 && d[0] == was.Status.SettledSerial && len(d) > 2, len(d) > 0 && d[0] != was.Status.SettledSerial && len(d) > 1, len(d) == 0:
			t.Errorf("of zone %s was delivered %d and then %v: not one change", name, was.Status.SettledSerial, d)
		case now.Status.Serial != now.Status.SettledSerial || now.Status.Serial <= was.Status.Serial:
			t.Errorf("zone %s: serial %d after %d, %d settled", name, now.Status.Serial, was.Status.Serial, now.Status.SettledSerial)
		}
	}
	if now, was := s.Zone("platform", "one").Status.Serial, zones["one"].Status.Serial; now != was+1 {
		t.Errorf("zone one: serial %d after %d", now, was)
	}
	isReleased(t, st, s, before, &events)
	// Written anew, one is taken in.
	if r, err := s.UpdateRecord(t.Context(), "tenant", "bad-one", func(r *v1alpha1.Record) { r.Spec.Values = []string{"1 . alpn=h2"} }); err != nil || r.Status.ZoneRef == nil {
		t.Errorf("written anew: %v, %+v", err, r.Status)
	}
}

// Wherever servers end, in the migration or in what it owes, the next one goes on.
func TestMigration6_interruptedAnywhereItGoesOn_S5_9(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	ended := true
	for n := 0; ended; n += 1 + n/3 {
		st := store.New(t)
		st.LoadFormat1()
		before := revisions(t, st)
		var events told
		ends, _ := endsThere(n % 6)
		func() {
			defer func() {
				if r := recover(); r != nil && r != errEnds {
					panic(r)
				}
			}()
			_ = opening(t, st, ends, ledger.Migrations())
		}()
		ctx, cancel := context.WithCancel(t.Context())
		var points atomic.Int64
		first := st.Server(ledger.Migrations(), events.config, func(c *ledger.Config) {
			c.Fault = func(string) {
				if points.Add(1) == int64(n)+1 {
					cancel()
				}
			}
		})
		done := make(chan struct{})
		go func() { defer close(done); _ = first.Ledger.Run(ctx) }()
		for quiet := false; !quiet && ctx.Err() == nil; quiet = st.Quiet() {
			time.Sleep(time.Millisecond)
		}
		ended = ctx.Err() != nil
		cancel()
		<-done
		if r := st.Fsck(); !r.Clean() {
			t.Fatalf("ended at point %d: %s", n, store.Text(r))
		}
		s := st.Server(ledger.Migrations(), events.config)
		s.Run()
		st.Settle()
		isReleased(t, st, s, before, &events)
		if t.Failed() {
			t.Fatalf("ended at point %d", n)
		}
	}
}
