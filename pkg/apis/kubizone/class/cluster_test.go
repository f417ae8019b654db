// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Code that keeps classes in one map uses the name from NameOf. Bind9Clusters of the same name in two namespaces, and a
// DNSClass of the same name, get different names there, and RefOf turns such a name back into the reference (S11.30).
func TestNameOf_distinguishesClusters_S11_30(t *testing.T) {
	cluster := v1alpha1.DNSClassReference{Kind: v1alpha1.KindBind9Cluster, Name: "edge"}
	names := map[string]string{
		"DNSClass":    NameOf("team-a", v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: "edge"}),
		"in team-a":   NameOf("team-a", cluster),
		"in team-b":   NameOf("team-b", cluster),
		"team-a-edge": NameOf("team-a", v1alpha1.DNSClassReference{Name: "team-a-edge"}),
	}
	seen := map[string]bool{}
	for what, name := range names {
		if seen[name] {
			t.Errorf("%s has the name %q, as another one has", what, name)
		}
		seen[name] = true
	}
	if again := RefOf(names["in team-b"]); again != cluster {
		t.Errorf("reference %+v", again)
	}
	if again := RefOf("edge"); again.Kind != v1alpha1.KindDNSClass || again.Name != "edge" {
		t.Errorf("reference %+v", again)
	}
}

// A Zone may name a Bind9Cluster of its namespace as its class. Each cluster then is a class with separate servers and
// a separate catalog zone, admits only the cluster's namespace, and delivers zones of every view (S11.30).
func TestOfCluster_sharesNothing_S11_30(t *testing.T) {
	clusterOf := func(namespace, name string) *bind9.Bind9Cluster {
		cluster := &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		// Only DNSClasses need consent: a Zone cannot name a cluster of another namespace.
		cluster.Spec.ZoneNamespaces = &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}
		return cluster
	}
	instances := []*bind9.Bind9Instance{
		instanceOf("team-a", "edge-primary-0", "edge", nil), instanceOf("team-b", "edge-primary-0", "edge", nil), instanceOf("team-a", "core-primary-0", "core", nil),
		instanceOf("team-a", "lone", "", nil),
	}
	catalogs := map[string]bool{}
	for _, at := range [][2]string{{"team-a", "edge"}, {"team-b", "edge"}, {"team-a", "core"}, {"a", "edge-team"}} {
		of := OfCluster(clusterOf(at[0], at[1]))
		if catalogs[of.Spec.Bind9.CatalogZone] {
			t.Errorf("%s has the catalog of another one", of.Name)
		}
		catalogs[of.Spec.Bind9.CatalogZone] = true
		if !Admits(of, at[0], nil) || Admits(of, "team-c", map[string]string{LabelNamespaceName: at[0]}) || IsDefault(of) || of.Spec.AllowRetain || of.Spec.AllowLocalAddresses {
			t.Errorf("%s: %+v", of.Name, of.Spec)
		}
		if !Delivers(of, "") || !Delivers(of, "inside") {
			t.Errorf("%s does not deliver every view", of.Name)
		}
		servers := ServersOf(of, instances, clusterOf)
		if len(servers) > 1 || len(servers) == 1 && (servers[0].Namespace != at[0] || servers[0].Name != at[1]+"-primary-0") || len(servers) == 0 && at[0] != "a" {
			t.Errorf("%s has the servers %+v", of.Name, servers)
		}
	}
}
