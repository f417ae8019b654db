// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// Migration 5: a parent that counts a child with a name server without an address owes another count, and that is paid;
// one that counts none such owes nothing (S6.1). Programs that do not know when a zone ends read the store no longer
// (S3.4).
func TestMigration5_countsNameServersWithoutAnAddressAnew(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", v1alpha1.DelegationRule{Zones: []string{"*"}})))
	for _, kid := range []string{"kid", "other"} {
		z := store.Zone("team", kid, kid+".example.org.")
		z.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}
		store.Must(s.CreateZone(z)) // which pays its parent at once
	}
	keys, client := layout.Keys{Prefix: st.Prefix}, st.Client.Client
	key := keys.Room("cuts") + string(s.Zone("platform", "top").UID) + "/" + string(s.Zone("team", "kid").UID)
	cut := store.Must(client.Get(t.Context(), key)).Kvs[0].Value
	old := bytes.ReplaceAll(cut, []byte("ns1.kid.example.org."), []byte("ns2.kid.example.org."))
	if bytes.Equal(old, cut) {
		t.Fatalf("the cut is %s", cut)
	}
	store.Must(client.Put(t.Context(), key, string(old)))
	st.Old(4)
	next := st.Server()
	says(t, st, ledger.Format, ledger.LeastReader())
	owed := store.Must(client.Get(t.Context(), keys.Room("debts")+string(s.Zone("platform", "top").UID)+"/"+string(s.Zone("team", "kid").UID))).Kvs
	if r := st.Fsck(); len(owed) != 1 || r.Owed.Total < 1 {
		t.Fatalf("nothing is owed for the child: %s", store.Text(r))
	}
	store.Must(client.Put(t.Context(), key, string(cut)))
	next.Run()
	st.Settle()
	st.MustBeClean()
}
