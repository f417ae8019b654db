// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// S9.1: records that wait since another holds their base name, or for what they are, leave nothing at their own names
// in the zone where they lost: no budget would count it, and it would stay when they go. They are tried again all the
// same when the name is free (S2.7).
func TestMarks_ofLosersTakeNoKeysOfTheirOwn_S9_1(t *testing.T) {
	t.Parallel()
	const losers = 20
	st := store.New(t)
	s := st.Server()
	s.Run()
	ctx := t.Context()
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("victim", "*"))))
	holder := store.Must(s.CreateRecord(ctx, store.Record("victim", "www", "www.example.org.", "A", "192.0.2.1")))
	waiting := func(name, domain, kind, value string) {
		r := store.Record("other", name, domain, kind, value)
		r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "platform", Name: "top"}
		store.Must(s.CreateRecord(ctx, r))
	}
	for i := range losers {
		waiting(fmt.Sprint("r", i), fmt.Sprintf("_%d._%s.www", i, strings.Repeat("x", 40)), "TXT", "t")
	}
	waiting("odd", "a_b", "A", "192.0.2.1") // at no host name, whatever stands there
	allowed := func(d ...v1alpha1.DelegationRule) {
		store.Must(s.UpdateZone("platform", "top", func(z *v1alpha1.Zone) { z.Spec.Delegations = d }))
		st.Settle()
	}
	allowed(store.Allow("victim", "*"), store.Allow("other", "*"))
	bare, octets := 0, 0
	for key, value := range readInternal(t, st) {
		if value == `{"w":true}` || value == `{"y":true}` {
			bare, octets = bare+1, octets+len(key)+len(value)
		}
	}
	if bare > 0 {
		t.Errorf("%d records that wait have %d keys with nothing but a mark, of %d octets each", losers+1, bare, octets/bare)
	}
	for i := range losers {
		r := s.Record("other", fmt.Sprint("r", i))
		if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted); c == nil || c.Reason != v1alpha1.ReasonNameHeld {
			t.Fatalf("%s: %+v", r.Name, c)
		}
	}
	must.Succeed(t, s.DeleteRecord(ctx, holder.Namespace, holder.Name))
	st.Settle()
	for i := range losers {
		if s.Record("other", fmt.Sprint("r", i)).Status.ZoneRef == nil {
			t.Errorf("r%d is not tried again", i)
		}
	}
	st.MustBeClean()
}

// readInternal returns the keys of zones that writes of Records change.
func readInternal(t *testing.T, st *store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, room := range []string{"owners", "holders", "names", "members", "counts", "journal"} {
		for _, kv := range store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Room(room), clientv3.WithPrefix())).Kvs {
			out[string(kv.Key)] = string(kv.Value)
		}
	}
	return out
}
