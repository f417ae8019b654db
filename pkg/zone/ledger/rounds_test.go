// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func setTryEvery(d time.Duration) func(*ledger.Config) {
	return func(c *ledger.Config) { c.TryEvery = d }
}

// makeLosers makes records of the namespace other wait for victim's name www, and for names below it.
func makeLosers(t *testing.T, st *store.Store, s *store.Server, losers int) {
	t.Helper()
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("victim", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("victim", "www", "www.example.org.", "A", "192.0.2.1")))
	for i := range losers {
		r := store.Record("other", fmt.Sprint("r", i), fmt.Sprintf("_%d.www", i), "TXT", "t")
		r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "platform", Name: "top"}
		store.Must(s.CreateRecord(t.Context(), r))
	}
	store.Must(s.UpdateZone("platform", "top", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("victim", "*"), store.Allow("other", "*")}
	}))
	st.Settle()
	for i := range losers {
		r := s.Record("other", fmt.Sprint("r", i))
		if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted); c == nil || c.Reason != v1alpha1.ReasonNameHeld {
			t.Fatalf("%s: %+v", r.Name, c)
		}
	}
}

// A Record waits because its namespace has reached its limit in the zone. When another Record of the namespace is
// deleted at another name, no trial is triggered at the waiting Record's name. So the periodic round must adopt the
// Record.
func TestRound_findsRoomBelowALimit_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(setTryEvery(50 * time.Millisecond))
	s.Run()
	z := store.Zone("platform", "top", "example.org.", store.Allow("", "*"))
	z.Spec.Limits = &v1alpha1.ZoneLimits{RecordsPerNamespace: new(int32(1))}
	early := store.Record("team", "early", "early.example.org.", "A", "192.0.2.1")
	late := store.Record("team", "late", "late.example.org.", "A", "192.0.2.2")
	for _, r := range []*v1alpha1.Record{early, late} { // both wait for the zone, which has room for a single Record
		store.Must(s.CreateRecord(t.Context(), r))
	}
	store.Must(s.CreateZone(z))
	st.Settle()
	adopted, waiting := "early", "late"
	if s.Record("team", adopted).Status.ZoneRef == nil {
		adopted, waiting = waiting, adopted
	}
	must.Succeed(t, s.DeleteRecord(t.Context(), "team", adopted))
	store.Eventually(t, "the other one has the room", func() bool { return s.Record("team", waiting).Status.ZoneRef != nil })
	st.Settle()
}

// Rounds that try waiting Records without success write nothing to etcd, so an idle cluster stays idle.
func TestRound_ofAnIdleClusterWritesNothing_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(setTryEvery(5 * time.Millisecond))
	s.Run()
	const losers = 10
	makeLosers(t, st, s, losers)
	revision := func() (last int64) { // of this store: others share the etcd
		all := store.Must(st.Client.Client.Get(t.Context(), st.Prefix+"/", clientv3.WithPrefix(), clientv3.WithKeysOnly()))
		for _, kv := range all.Kvs {
			last = max(last, kv.ModRevision)
		}
		return last
	}
	var before int64
	store.Eventually(t, "the server is idle", func() bool { // e.g. a trimmed journal is followed by a status
		before = revision()
		time.Sleep(500 * time.Millisecond)
		return revision() == before
	})
	tried := s.Ledger.Tried()
	store.Eventually(t, "two rounds went by", func() bool { return s.Ledger.Tried() > tried+2*losers })
	if after := revision(); after != before {
		t.Errorf("while rounds went by, etcd went from revision %d to %d", before, after)
	}
}

// A round tries at most a hundred waiting Records of a namespace, drawn at random. A tenant with thousands of waiting
// Records thus delays no other tenant, and all Records are tried in time.
func TestRound_givesEachNamespaceItsTurn_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	var read []string // keys of Records
	s := st.Server(setTryEvery(time.Hour), spyOn(func(x *spiedTxn) (*clientv3.TxnResponse, error) {
		for _, op := range x.then {
			if key := string(op.KeyBytes()); op.IsGet() && strings.Contains(key, "/records/") {
				read = append(read, key)
			}
		}
		return x.Txn.Commit()
	}))
	ctx := context.WithoutCancel(t.Context())
	for i := range 300 {
		store.Must(s.CreateRecord(ctx, store.Record("flood", fmt.Sprint("r", i), fmt.Sprintf("a%d.example.org.", i), "A", "192.0.2.1")))
	}
	store.Must(s.CreateRecord(ctx, store.Record("team", "www", "www.example.org.", "A", "192.0.2.1")))
	drawn := map[string]bool{}
	for range 20 {
		read = nil
		must.Get(s.Ledger.TryWaiting(ctx))(t)
		team := 0
		for _, key := range read {
			if strings.Contains(key, "/team/") {
				team++
			} else {
				drawn[key] = true
			}
		}
		if team != 1 || len(read) != 101 {
			t.Fatalf("tried: %v", read)
		}
	}
	if len(drawn) < 290 { // each misses 20 draws with a probability of (2/3)^20
		t.Errorf("in 20 rounds %d of 300 were tried", len(drawn))
	}
}

// replaceLater creates a CNAME that waits until the other data at its name is gone (S2.14).
func replaceLater(t *testing.T, s *store.Server, namespace, name, domain string) {
	t.Helper()
	r := store.Record(namespace, name, domain, "CNAME", "new.example.net.")
	r.Annotations = map[string]string{v1alpha1.AnnotationOnConflict: v1alpha1.OnConflictWait}
	store.Must(s.CreateRecord(t.Context(), r))
}

// A namespace deletes its Record while a replacement waits at the name, and while Records of other tenants wait at
// underscore names below. The replacement of the former holder must get the name (S2.7, attack 93).
func TestRound_leavesANameToTheHolderThatReplacesItsOwn_S2_15(t *testing.T) {
	t.Parallel()
	for range 4 {
		st := store.New(t)
		s := st.Server(setTryEvery(time.Hour))
		s.Run()
		makeLosers(t, st, s, 6)
		replaceLater(t, s, "victim", "new", "www.example.org.")
		must.Succeed(t, s.DeleteRecord(t.Context(), "victim", "www"))
		store.Eventually(t, "the holder has its name", func() bool { return s.Record("victim", "new").Status.ZoneRef != nil })
		st.Settle()
	}
}

// The oldest Record gets the name, under any underscore labels.
func TestRound_givesANameToTheOlder_S2_7(t *testing.T) {
	t.Parallel()
	for range 6 {
		st := store.New(t)
		s := st.Server(setTryEvery(time.Hour))
		store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("victim", "*"))))
		store.Must(s.CreateRecord(t.Context(), store.Record("victim", "www", "www.example.org.", "A", "192.0.2.1")))
		for i, domain := range []string{"_x.www", "www"} {
			r := store.Record([]string{"old", "young"}[i], "r", domain, "TXT", "t")
			r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "platform", Name: "top"}
			r.CreationTimestamp.Time = time.Unix(1_700_000_000+int64(i), 0)
			store.Must(s.CreateRecord(t.Context(), r))
		}
		store.Must(s.UpdateZone("platform", "top", func(z *v1alpha1.Zone) {
			z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("victim", "*"), store.Allow("old", "*"), store.Allow("young", "*")}
		}))
		s.Ledger.ProcessOutbox(t.Context())
		must.Succeed(t, s.DeleteRecord(t.Context(), "victim", "www"))
		s.Ledger.ProcessOutbox(t.Context())
		if s.Record("old", "r").Status.ZoneRef == nil || s.Record("young", "r").Status.ZoneRef != nil {
			t.Fatal("the younger has the name")
		}
	}
}

func TestRound_goesPastADamagedRecord_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked)
	s := st.Server(setTryEvery(20 * time.Millisecond))
	s.Run()
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("team", "*"))))
	for _, name := range []string{"a", "b"} {
		store.Must(s.CreateRecord(t.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
		replaceLater(t, s, "team", name+"1", name+".example.org.")
		replaceLater(t, s, "team", name+"2", name+".example.org.")
	}
	must.Get(st.Client.Client.Put(t.Context(), st.Prefix+store.Key("records", "team", "a1"), "rubbish"))(t)
	for _, name := range []string{"a", "b"} {
		must.Succeed(t, s.DeleteRecord(t.Context(), "team", name))
		store.Eventually(t, name+" is replaced", func() bool {
			return s.Record("team", name+"2").Status.ZoneRef != nil || name == "b" && s.Record("team", "b1").Status.ZoneRef != nil
		})
	}
	must.Succeed(t, s.DeleteRecord(t.Context(), "team", "a2"))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "a", "a.example.org.", "A", "192.0.2.1")))
	replaceLater(t, s, "team", "a3", "a.example.org.")
	must.Succeed(t, s.DeleteRecord(t.Context(), "team", "a"))
	store.Eventually(t, "a is replaced again", func() bool { return s.Record("team", "a3").Status.ZoneRef != nil })
}

// While the cascade of a deleted zone moves names into the zone above, a round leaves these names to the cascade, and
// still tries the waiting Records at all other names (S2.9).
func TestRound_leavesNamesThatMoveToTheirCascade_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(setTryEvery(time.Hour))
	z := store.Zone("platform", "top", "example.org.", store.Allow("team", "*"))
	z.Spec.Delegations = append(z.Spec.Delegations, v1alpha1.DelegationRule{Namespace: "kid", Zones: []string{"kid"}})
	store.Must(s.CreateZone(z))
	store.Must(s.CreateZone(store.Zone("kid", "kid", "kid.example.org.", store.Allow("kid", "*"))))
	s.Ledger.ProcessOutbox(t.Context())
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "a", "a.example.org.", "A", "192.0.2.1")))
	replaceLater(t, s, "team", "new", "a.example.org.")
	within := store.Record("team", "within", "www.kid", "A", "192.0.2.2")
	within.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "platform", Name: "top"}
	if _, err := s.CreateRecord(t.Context(), within); err == nil {
		t.Error("a name of the child was taken")
	}
	must.Succeed(t, s.DeleteZone("kid", "kid"))                // the cascade is pending
	_, errs := inSet(t.Context(), s, deleteLater("team", "a"), // locks no name (S2.14)
		createLater(store.Record("team", "b", "b.example.org.", "A", "192.0.2.1")))
	must.Succeed(t, errors.Join(errs...))
	if pending := must.Get(s.Ledger.TryWaiting(t.Context()))(t); pending != 1 {
		t.Errorf("a round owes %d cascades for a name beside those that move", pending)
	}
	s.Ledger.ProcessOutbox(t.Context())
	if s.Record("team", "new").Status.ZoneRef == nil {
		t.Error("the name is not replaced")
	}
}

// A round tries waiting Records again. While the cascade of a Delegation restores a namespace's rules, the round leaves
// the namespace's Records to the cascade, however many other cascades of Delegations are due: here more than a page of
// etcd has. The hold that began when the rules were lost therefore ends with the cascade (S7.5).
func TestRound_leavesANamespaceToTheCascadeOfItsDelegation_S2_7(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := st.Server(setTryEvery(time.Hour), func(c *ledger.Config) { c.Now = func() time.Time { return now } })
	z := store.Zone("platform", "top", "example.org.")
	z.Spec.Limits, z.Spec.WithdrawalGracePeriod = nil, &metav1.Duration{}
	store.Must(s.CreateZone(z))
	store.Must(s.CreateDelegation(store.Delegation("platform", "team", "top", []string{"team"}, "*")))
	const records = 30
	for i := range records {
		r := store.Record("team", fmt.Sprint("r", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")
		store.Must(s.CreateRecord(t.Context(), r))
	}
	s.Ledger.ProcessOutbox(t.Context())
	now = now.Add(30 * time.Minute) // all content counts against deletions
	client, keys := st.Client.Client, layout.Keys{Prefix: st.Prefix}
	change := func(namespace string) (held bool) {
		t.Helper()
		store.Must(s.UpdateDelegation("platform", "team", func(d *v1alpha1.Delegation) { d.Spec.Namespaces = []string{namespace} }))
		for i := range 2_001 {
			w := law.Work{ID: fmt.Sprintf("delegation-platform.other-%d", i), By: "platform", Scans: []law.Scan{{
				Kind: law.ScanNamespaces, Zone: "another", Namespaces: []string{"team"}}}}
			must.Get(client.Put(t.Context(), keys.Outbox(w.ID), string(layout.Encode(w))))(t)
		}
		if pending := must.Get(s.Ledger.TryWaiting(t.Context()))(t); pending != 0 {
			t.Errorf("a round owes %d cascades beside those of Delegations", pending)
		}
		must.Get(client.Delete(t.Context(), keys.Outbox("delegation-platform.other"), clientv3.WithPrefix()))(t)
		s.Ledger.ProcessOutbox(t.Context())
		if r := s.Record("team", "r0"); (r.Status.ZoneRef != nil) != (namespace == "team") {
			t.Fatalf("with rules for %s: %+v", namespace, r.Status)
		}
		c := meta.FindStatusCondition(s.Zone("platform", "top").Status.Conditions, v1alpha1.ConditionSettled)
		return c.Reason == v1alpha1.ReasonMassDeletion
	}
	if !change("none") {
		t.Fatal("nothing is held")
	}
	if change("team") {
		t.Error("the zone is still held")
	}
}
