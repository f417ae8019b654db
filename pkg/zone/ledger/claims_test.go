// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
