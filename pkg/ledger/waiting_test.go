// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

// A squatter leaves many Records waiting at a name that another namespace replaces. None of them gets the name or
// reveals its holder, and the holder neither waits nor pays for them (attack 93).
func TestWaiting_aSquatterGetsNothing_S2_15(t *testing.T) {
	t.Parallel()
	many := 300
	if rig.Long() {
		many = 10_000
	}
	var b bill
	st := store.New(t)
	s := st.Server(meterClient(&b))
	s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("shop", "*"), store.Allow("squat", "*"))))
	store.Must(s.CreateRecord(s.Ctx, store.Record("shop", "www-0", "www.example.org.", "A", "192.0.2.1")))
	var wg sync.WaitGroup
	begin := time.Now()
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < many; i += 8 {
				r := store.Record("squat", fmt.Sprintf("r%d", i), "www.example.org.", "A", "192.0.2.66")
				r.Annotations = map[string]string{v1alpha1.AnnotationOnConflict: v1alpha1.OnConflictWait}
				store.Must(s.CreateRecord(s.Ctx, r))
			}
		})
	}
	wg.Wait()
	t.Logf("%d Records wait, made in %s", many, time.Since(begin).Round(time.Millisecond))
	st.Settle()
	b.takeBill()
	for i := range 3 {
		var elapsed []time.Duration
		timed := func(write func() error) {
			begin := time.Now()
			if err := write(); err != nil {
				t.Fatal(err)
			}
			elapsed = append(elapsed, time.Since(begin))
		}
		put := func(name, domain string) {
			timed(func() error {
				_, err := s.CreateRecord(s.Ctx, store.Record("shop", name, domain, "A", "192.0.2.1"))
				return err
			})
		}
		timed(func() error { return s.DeleteRecord(s.Ctx, "shop", fmt.Sprintf("www-%d", i)) })
		time.Sleep(20 * time.Millisecond) // the cascade is running
		put(fmt.Sprintf("www-%d", i+1), "www.example.org.")
		for n := range 20 {
			put(fmt.Sprintf("other-%d-%d", i, n), fmt.Sprintf("o%d-%d.example.org.", i, n))
		}
		begin := time.Now()
		st.Settle()
		of := b.takeBill()
		t.Logf("delete %s, create %s, the slowest of 20 more writes %s; the cascade went on for %s; charged %v",
			elapsed[0], elapsed[1], slices.Max(elapsed[2:]), time.Since(begin).Round(time.Millisecond), of)
		if most := 100 << 10; of["shop"] > most {
			t.Errorf("the holder was charged %d octets, of which its own 22 writes take less than %d", of["shop"], most)
		}
		for _, r := range s.ListRecords("squat") {
			if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted); c.Reason != law.ReasonNameHeld {
				t.Fatalf("%s: %s", r.Name, c.Message)
			}
			if text := string(must.Get(json.Marshal(r))(t)); strings.Contains(text, "shop") {
				t.Fatalf("S1.8: it says whose the name is: %s", text)
			}
		}
	}
}

// A Record created with the annotation on-conflict waits at a name that is taken. When its own namespace, or that of
// the zone, deletes the Record there, the waiting Record gets the name, although tenants with the pattern "*" try to
// take it as fast as they can.
func TestWaiting_replacesBeforeOthersTakeTheName_S2_14(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"), store.Allow("shop", "*"),
		store.Allow("squat", "*"))))
	for race := range scaleTo(12, 3) {
		for _, namespace := range []string{"infra", "shop"} {
			host := fmt.Sprintf("%s-%d.example.org.", namespace, race)
			store.Must(s.CreateRecord(s.Ctx, store.Record(namespace, fmt.Sprint("old-", race), host, "A", "192.0.2.1")))
			next := store.Record(namespace, fmt.Sprint("new-", race), host, "CNAME", "good.example.net.")
			next.Annotations = map[string]string{v1alpha1.AnnotationOnConflict: v1alpha1.OnConflictWait}
			store.Must(s.CreateRecord(s.Ctx, next))
			ctx, stop := context.WithCancel(s.Ctx)
			var attackers sync.WaitGroup
			for i := range 4 {
				attackers.Go(func() {
					for ctx.Err() == nil {
						r := store.Record("squat", fmt.Sprintf("squat-%d", i), host, "CNAME", "evil.example.net.")
						if _, err := s.CreateRecord(ctx, r); err == nil {
							t.Errorf("%s is another namespace's", host)
							return
						}
					}
				})
			}
			must.Succeed(t, s.DeleteRecord(s.Ctx, namespace, fmt.Sprint("old-", race)))
			st.Settle()
			stop()
			attackers.Wait()
			for _, r := range s.ListRecords(namespace) {
				c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted)
				if r.Name == next.Name && c.Status != metav1.ConditionTrue {
					t.Errorf("%s: %s", host, c.Message)
				}
			}
		}
	}
}

// A deletion depends on whether a Record waits at the name, and whether a wildcard answers for it. The transaction
// compares that neither exists, so the deletion needs no read (S4.25).
func TestDelete_readsNothing_S2_14(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("shop", "*"))))
	const many = 20
	for i := range many {
		store.Must(s.CreateRecord(s.Ctx, store.Record("shop", fmt.Sprint("r", i), fmt.Sprintf("h%d.example.org.", i), "A", "192.0.2.1")))
	}
	st.Settle()
	stats := s.Ledger.Stats()
	reads, conflicts := stats.Reads.Load(), stats.Conflicts.Load()
	for i := range many {
		must.Succeed(t, s.DeleteRecord(s.Ctx, "shop", fmt.Sprint("r", i)))
	}
	if reads, conflicts = stats.Reads.Load()-reads, stats.Conflicts.Load()-conflicts; reads+conflicts > 0 {
		t.Errorf("%d deletions cost %d reads and %d conflicts", many, reads, conflicts)
	}
}

func TestDelete_findsAWildcardThatIsNotInMemory_S4_25(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	first := st.Server()
	store.Must(first.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"),
		store.Allow("cert", "_acme-challenge.*"))))
	store.Must(first.CreateRecord(first.Ctx, store.Record("infra", "wild", "*.example.org.", "A", "192.0.2.1")))
	store.Must(first.CreateRecord(first.Ctx, store.Record("infra", "host", "host.example.org.", "A", "192.0.2.1")))
	store.Must(first.CreateRecord(first.Ctx, store.Record("cert", "token", "_acme-challenge.host.example.org.", "TXT", "token")))
	first.Ledger.ProcessOutbox(first.Ctx)
	received, second := &warned{}, st.Server()
	must.Succeed(t, second.DeleteRecord(warning.WithWarningRecorder(second.Ctx, received), "infra", "host"))
	if !strings.Contains(fmt.Sprint(received.texts), "S4.25") {
		t.Errorf("Warnings %q", received.texts)
	}
	third := st.Server()
	store.Must(third.UpdateRecord(third.Ctx, "infra", "wild", func(r *v1alpha1.Record) { r.Spec.RData = "192.0.2.2" }))
	must.Succeed(t, st.Server().DeleteRecord(third.Ctx, "infra", "wild"))
}
