// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

// Squatters leave many Records waiting at a name that another namespace replaces. None of them gets the name or reveals
// its holder, and the holder neither waits nor pays for them (attack 93).
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
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(s.Ctx, store.Record("shop", "www-0", "www.example.org.", "A", "192.0.2.1")))
	var wg sync.WaitGroup
	begin := time.Now()
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < many; i += 8 {
				r := store.Record(fmt.Sprint("squat-", i/law.MaxWaiting), fmt.Sprintf("r%d", i), "www.example.org.", "A", "192.0.2.66")
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
		for _, r := range s.ListRecords("squat-3") {
			if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted); c.Reason != law.ReasonNameHeld {
				t.Fatalf("%s: %s", r.Name, c.Message)
			}
			if text := string(must.Get(json.Marshal(r))(t)); strings.Contains(text, "shop") {
				t.Fatalf("S1.8: it says whose the name is: %s", text)
			}
		}
	}
}

// Records that wait for a zone, of a namespace without a rule, do not keep the new zone unsettled. Those of a namespace
// with a rule, by the Zone or by a Delegation, are adopted.
func TestWaiting_ofANamespaceWithoutRuleDelaysNoZone_S7_2(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	const squatters = 200
	for i := range squatters {
		fqdn := fmt.Sprintf("r%d.new.example.", i)
		store.Must(s.CreateRecord(t.Context(), store.Record("squat", fmt.Sprint("r", i), fqdn, "A", "192.0.2.1")))
	}
	for _, namespace := range []string{"own", "ruled", "delegated"} {
		store.Must(s.CreateRecord(t.Context(), store.Record(namespace, "r", namespace+".new.example.", "A", "192.0.2.1")))
	}
	store.Must(s.CreateDelegation(store.Delegation("own", "given", "new", []string{"delegated"}, "delegated")))
	before := s.Ledger.Stats().CascadeSteps.Load()
	store.Must(s.CreateZone(store.Zone("own", "new", "new.example.", store.Allow("own", "*"), store.Allow("ruled", "ruled"))))
	s.Run()
	st.Settle()
	if steps := s.Ledger.Stats().CascadeSteps.Load() - before; steps >= squatters {
		t.Errorf("the cascade decided %d objects, though no rule gives %d of them their names", steps, squatters)
	}
	for _, namespace := range []string{"own", "ruled", "delegated", "squat"} {
		r := s.ListRecords(namespace)[0]
		is := meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionAdopted)
		if want := namespace != "squat"; is != want {
			t.Errorf("the Record of %s is adopted %t, want %t: %+v", namespace, is, want, r.Status.Conditions)
		}
	}
}

// Twelve clients of a tenant replace one Record each, again and again. Each replacement is one step, so the new Record
// has the name in the answer to the deletion, the zone is settled at every moment, and no name is locked: own writes at
// and below the names, and the namespace of a literal rule above them.
func TestWaiting_aReplacementLocksNothing_S2_14(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	store.Must(s.CreateZone(store.Zone("own", "l", "l.example.", store.Allow("own", "*"), store.Allow("a", "*.lab"),
		store.Allow("c", "lab"))))
	hostOf := func(i int) string { return fmt.Sprintf("n%d.lab.l.example.", i) }
	for i := range 12 {
		store.Must(s.CreateRecord(s.Ctx, store.Record("a", fmt.Sprintf("n%d-0", i), hostOf(i), "A", "192.0.2.1")))
	}
	st.Settle()
	var clients sync.WaitGroup
	for i := range 12 {
		clients.Go(func() {
			host, present := hostOf(i), fmt.Sprintf("n%d-0", i)
			for turn := range scaleTo(40, 8) {
				kind, value := "A", "192.0.2.1"
				if turn%2 == 0 {
					kind, value = "CNAME", "x.example.net."
				}
				next := store.Record("a", fmt.Sprintf("n%d-%d", i, turn+1), host, kind, value)
				next.Annotations = map[string]string{v1alpha1.AnnotationOnConflict: v1alpha1.OnConflictWait}
				store.Must(s.CreateRecord(s.Ctx, next))
				must.Succeed(t, s.DeleteRecord(s.Ctx, "a", present))
				if present = next.Name; s.Record("a", present).Status.ZoneRef == nil {
					t.Errorf("%s waits after the deletion: %+v", host, s.Record("a", present).Status.Conditions)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	for replacing := true; replacing; {
		for _, r := range []*v1alpha1.Record{
			store.Record("c", "above", "lab.l.example.", "A", "192.0.2.3"),
			store.Record("own", "above", "lab.l.example.", "TXT", "own"),
			store.Record("own", "below", "x.n1.lab.l.example.", "TXT", "own"),
		} {
			if _, err := s.CreateRecord(s.Ctx, r); err != nil {
				t.Errorf("%s/%s: %v", r.Namespace, r.Name, err)
				continue
			}
			must.Succeed(t, s.DeleteRecord(s.Ctx, r.Namespace, r.Name))
		}
		if z := s.Zone("own", "l").Status; z.SettledSerial != z.Serial {
			t.Errorf("serial %d, settled is %d", z.Serial, z.SettledSerial)
		}
		select {
		case <-done:
			replacing = false
		default:
		}
	}
	st.Settle()
	st.MustBeClean()
}

// A waiting Record whose labels change beside the deletion still gets the name with it. Of Records that do not fit, a
// deletion tries two, and so delays its zone by two commits.
func TestWaiting_changesBesideTheDeletion_S2_14(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	part, beforePut, reads := "/records/shop/new", func() {}, 0 // of keys with part
	s := st.Server(setTryEvery(time.Hour), spyOn(func(x *spiedTxn) (*clientv3.TxnResponse, error) {
		for _, op := range x.then {
			switch isWaiter := strings.Contains(string(op.KeyBytes()), part); {
			case isWaiter && op.IsGet():
				reads++
			case isWaiter && op.IsPut():
				beforePut()
			}
		}
		return x.Txn.Commit()
	}))
	other := st.Server()
	z := store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"), store.Allow("shop", "*"))
	store.Must(s.CreateZone(z))
	labelled := 0
	label := func() {
		store.Must(other.UpdateRecord(other.Ctx, "shop", "new", func(r *v1alpha1.Record) {
			r.Labels = map[string]string{"turn": fmt.Sprint(labelled)}
		}))
		labelled++
	}
	store.Must(s.CreateRecord(s.Ctx, store.Record("shop", "old", "www.example.org.", "A", "192.0.2.1")))
	replaceLater(t, s, "shop", "new", "www.example.org.")
	beforePut = func() {
		if labelled < 2 {
			label()
		}
	}
	must.Succeed(t, s.DeleteRecord(s.Ctx, "shop", "old"))
	if r := s.Record("shop", "new"); r.Status.ZoneRef == nil || labelled != 2 || r.Labels["turn"] != "1" {
		t.Errorf("after %d changes the Record waits: %+v", labelled, r)
	}

	part, beforePut = "/records/shop/unfit", func() {}
	store.Must(s.CreateRecord(s.Ctx, store.Record("shop", "host", "host.example.org.", "A", "192.0.2.1")))
	for i := range 8 {
		replaceLater(t, s, "shop", fmt.Sprint("unfit-", i), "host.example.org.")
	}
	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		z.Spec.Delegations[1].Records[0].Types = []string{"A"}
	}))
	s.Ledger.ProcessOutbox(s.Ctx)
	reads = 0
	must.Succeed(t, s.DeleteRecord(s.Ctx, "shop", "host"))
	if reads != 2 {
		t.Errorf("a deletion tries %d Records that do not fit", reads)
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
