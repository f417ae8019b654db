// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// S11.1: backups include BIND 9 objects, and fsck reads them.
func TestBackup_hasServers_S11_1(t *testing.T) {
	old := startStore(t, t.TempDir())
	store.Must(old.CreateZone(store.Zone("dns", "org", "example.org.")))
	client, codecOf, err := apiserver.Source{Etcd: old.where}.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	put := func(resource, name string, object runtime.Object) string {
		t.Helper()
		key := old.Ledger.Layout().Objects(resource) + name
		text := store.Must(codecOf(resource).Encode(t.Context(), key, object))
		store.Must(client.Client.Put(t.Context(), key, string(text)))
		return key
	}
	meta := metav1.ObjectMeta{Namespace: "dns", Name: "edge"}
	put("clusterbind9providers.bind9.kubi.zone", "edge", &bind9.ClusterBind9Provider{ObjectMeta: metav1.ObjectMeta{Name: "edge"}})
	cluster := put("bind9clusters.bind9.kubi.zone", "dns/edge", &bind9.Bind9Cluster{ObjectMeta: meta})
	put("bind9instances.bind9.kubi.zone", "dns/edge", &bind9.Bind9Instance{ObjectMeta: meta, Spec: bind9.Bind9InstanceSpec{Role: bind9.RolePrimary}})

	file := filepath.Join(t.TempDir(), "backup")
	manifest, err := Take(t.Context(), old.where, file)
	if err != nil || manifest.String() != "1 zones and 0 records" {
		t.Fatalf("%v, %+v: %s", err, manifest, manifest)
	}
	path, message, err := restoreBackup(t, file)
	if err != nil || !strings.Contains(message, "1 zones and 0 records") {
		t.Fatalf("%v: %s", err, message)
	}
	again := startStore(t, path)
	if answer := store.Must(again.store.Client.Client.Get(t.Context(), cluster)); len(answer.Kvs) != 1 {
		t.Errorf("%s is not restored", cluster)
	}

	for what, damage := range map[string]func() string{
		"no object": func() string {
			store.Must(client.Client.Put(t.Context(), cluster, "k8s\x00damaged"))
			return cluster
		},
		"another's key": func() string {
			return put("bind9clusters.bind9.kubi.zone", "dns/other", &bind9.Bind9Cluster{ObjectMeta: meta})
		},
	} {
		key := damage()
		report := must.Get(Check(t.Context(), apiserver.Source{Etcd: old.where}))(t)
		found := false
		for _, finding := range report.Damage.List {
			found = found || finding.Key == key && finding.Rule == "S11.1"
		}
		if !found {
			t.Errorf("%s: %+v", what, report.Damage.List)
		}
	}
}
