// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// A tenant with 1,501 names below a name claims that name. The server accepts the claim if all of them belong to the
// tenant, and refuses it if the last belongs to another. The octets read for the decision are charged (S9.2).
func TestClaims_manyBelow_S4_8(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked) // the test writes names without records
	var b bill
	s := st.Server(meterClient(&b))
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("victim", "*"), store.Allow("attacker", "*"))))
	record := func(ns, name, domain string) error {
		_, err := s.CreateRecord(t.Context(), store.Record(ns, name, domain, "A", "192.0.2.1"))
		return err
	}
	for _, x := range [][3]string{{"victim", "old", "zz.big.example.org."}, {"victim", "x", "x.www.example.org."},
		{"attacker", "y", "x.big.example.org."}} {
		must.Succeed(t, record(x[0], x[1], x[2]))
	}
	client := store.Must(st.Connect())
	all := store.Must(client.Get(t.Context(), st.Prefix+"/", clientv3.WithPrefix()))
	for _, kv := range all.Kvs {
		at, one := strings.CutSuffix(string(kv.Key), "x.")
		if !one || !strings.Contains(at, "/owners/") {
			continue
		}
		for i := range 15 {
			var puts []clientv3.Op
			for n := range 100 {
				puts = append(puts, clientv3.OpPut(fmt.Sprintf("%sn%d-%d.", at, i, n), string(kv.Value)))
			}
			store.Must(client.Txn(t.Context()).Then(puts...).Commit())
		}
	}
	b.takeBill()
	if err := record("victim", "www", "www.example.org."); err != nil {
		t.Errorf("above 1,501 names of its own: %v", err)
	}
	if of := b.takeBill(); of["victim"] < 32<<10 { // S9.2
		t.Errorf("what it read of them is charged as %v", of)
	}
	if err := record("attacker", "big", "big.example.org."); !apierrors.IsForbidden(err) {
		t.Errorf("above a name of another namespace among 1,501 of its own: %v", err)
	}
}

// A Record's status names the kind of rule that admitted it, such as a shared rule. If another rule admits the Record
// now, a cascade changes only the kind. fsck compares the status with the claims.
func TestClaims_statusSaysTheKindOfRule_S4_17(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	shared := store.Allow("tenant", "www")
	shared.Records[0].Shared = true
	zone := store.Zone("platform", "top", "example.org.", shared)
	zone.Spec.WithdrawalGracePeriod = &metav1.Duration{Duration: time.Hour}
	store.Must(s.CreateZone(zone))
	store.Must(s.CreateRecord(t.Context(), store.Record("tenant", "www", "www.example.org.", "A", "192.0.2.1")))
	store.Must(s.CreateRecord(t.Context(), store.Record("tenant", "low", "low.example.net.", "A", "192.0.2.1")))
	expect := func(what, admission string) {
		t.Helper()
		st.Settle()
		if r := s.Record("tenant", "www"); r.Status.Admission != admission {
			t.Errorf("%s: admission is %q, want %q: %+v", what, r.Status.Admission, admission, r.Status.Conditions)
		}
	}
	expect("by a shared rule", "Shared")
	if r := s.Record("tenant", "low"); r.Status.Admission != "" {
		t.Errorf("a record that no zone has is said to be admitted: %q", r.Status.Admission)
	}
	serial := s.Zone("platform", "top").Status.Serial
	allow := func(rules ...v1alpha1.DelegationRule) {
		store.Must(s.UpdateZone("platform", "top", func(z *v1alpha1.Zone) { z.Spec.Delegations = rules }))
	}
	allow(store.Allow("tenant", "www"))
	expect("by a literal rule", "Literal")
	allow(store.Allow("tenant", "*"))
	expect("by a rule with *", "Plain")
	store.Must(s.UpdateRecord(t.Context(), "tenant", "www", func(r *v1alpha1.Record) { r.Spec.Description = "text" }))
	expect("described anew", "Plain")
	allow()
	expect("in its period", "Plain")
	if now := s.Zone("platform", "top").Status.Serial; now != serial {
		t.Errorf("rules changed the serial from %d to %d", serial, now)
	}
	must.Succeed(t, s.DeleteRecord(t.Context(), "tenant", "www"))
}
