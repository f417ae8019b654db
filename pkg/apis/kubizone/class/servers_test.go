// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func instanceOf(namespace, name, cluster string, change func(*bind9.Bind9Instance)) *bind9.Bind9Instance {
	instance := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Labels: map[string]string{"dns": "public"}}}
	if cluster != "" {
		instance.Spec.ClusterRef = &bind9.ClusterReference{Name: cluster}
	}
	instance.Spec.ZoneNamespaces = &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}
	instance.Status.Addresses = []string{"192.0.2.1:53"}
	if change != nil {
		change(instance)
	}
	return instance
}

func bind9Class(namespaces *v1alpha1.NamespaceSelection) *v1alpha1.DNSClass {
	return &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "public"}, Spec: v1alpha1.DNSClassSpec{Namespaces: namespaces, Bind9: &v1alpha1.Bind9Provider{
		ClusterRef:    &v1alpha1.Bind9ClusterReference{Namespace: "dns", Name: "edge"},
		InstancesFrom: []v1alpha1.Bind9InstanceSelection{{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"dns": "public"}}, Namespaces: []string{"dns", "team-b"}}, {}},
	}}}
}

func noCluster(string, string) *bind9.Bind9Cluster { return nil }

// The servers of a class come from a cluster reference and from label selectors. A server selected by both is listed
// once. Deleted and stopped servers are left out, and so are servers with matching labels in namespaces that the class
// does not list (S11.13).
func TestServersOf_selects_S11_13(t *testing.T) {
	unlabelled := func(i *bind9.Bind9Instance) { i.Labels = nil }
	got := ServersOf(bind9Class(&v1alpha1.NamespaceSelection{Names: []string{"team-a"}}), []*bind9.Bind9Instance{
		instanceOf("team-b", "vm", "", func(i *bind9.Bind9Instance) {
			i.Spec.External = &bind9.ExternalServer{Address: "192.0.2.7:5353", TSIGSecretName: "vm-key"}
		}),
		instanceOf("mallory", "alone", "", nil), // matching labels, in a namespace outside the class
		instanceOf("dns", "edge-primary-0", "edge", unlabelled),
		instanceOf("dns", "edge-secondary-0", "edge", nil), // selected twice
		instanceOf("other", "edge-primary-0", "edge", unlabelled),
		instanceOf("dns", "core-primary-0", "core", unlabelled),
		instanceOf("dns", "alone", "", func(i *bind9.Bind9Instance) { i.Status.Addresses = nil }),
		instanceOf("dns", "stopped", "edge", func(i *bind9.Bind9Instance) { i.Spec.Replicas = ptr.To[int32](0) }),
		instanceOf("dns", "gone", "edge", func(i *bind9.Bind9Instance) { i.DeletionTimestamp = &metav1.Time{} }),
		instanceOf("dns", "keyless", "", func(i *bind9.Bind9Instance) { i.Spec.External = &bind9.ExternalServer{Address: "192.0.2.8"} }),
	}, noCluster)
	var have []string
	for _, s := range got {
		key := "none"
		if s.Key != nil {
			key = s.Key.Namespace + "/" + s.Key.Name
		}
		have = append(have, s.Namespace+"/"+s.Name+" "+s.Address+" "+key)
	}
	want := []string{"dns/alone  dns/alone-tsig", "dns/edge-primary-0 192.0.2.1:53 dns/edge-tsig", "dns/edge-secondary-0 192.0.2.1:53 dns/edge-tsig", "dns/keyless 192.0.2.8 none", "team-b/vm 192.0.2.7:5353 team-b/vm-key"}
	if !slices.Equal(have, want) {
		t.Errorf("servers %q, want %q", have, want)
	}
}

// S11.16.
func TestServersOf_needsConsent_S11_16(t *testing.T) {
	names := func(all ...string) *v1alpha1.NamespaceSelection { return &v1alpha1.NamespaceSelection{Names: all} }
	some := &metav1.LabelSelector{MatchLabels: map[string]string{"dns": "yes"}}
	byName := &metav1.LabelSelector{MatchLabels: map[string]string{LabelNamespaceName: "team-a"}}
	for what, test := range map[string]struct {
		class    *v1alpha1.NamespaceSelection
		consents *bind9.NamespaceSelection
		want     bool
	}{
		"its own namespace":                  {names("dns"), nil, true},
		"another's, without a word":          {names("dns", "team-a"), nil, false},
		"another's, by name":                 {names("dns", "team-a"), &bind9.NamespaceSelection{Names: []string{"team-a"}}, true},
		"one of two":                         {names("team-a", "team-b"), &bind9.NamespaceSelection{Names: []string{"team-a"}}, false},
		"all":                                {&v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{}}, &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}, true},
		"all, to names":                      {&v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{}}, &bind9.NamespaceSelection{Names: []string{"team-a"}}, false},
		"the selector of the class":          {&v1alpha1.NamespaceSelection{Selector: some}, &bind9.NamespaceSelection{Selector: some}, true},
		"another selector":                   {&v1alpha1.NamespaceSelection{Selector: some}, &bind9.NamespaceSelection{Selector: byName}, false},
		"a name, by a selector of it":        {names("team-a"), &bind9.NamespaceSelection{Selector: byName}, true},
		"another name, by a selector of one": {names("team-b"), &bind9.NamespaceSelection{Selector: byName}, false},
		"a class for no namespace":           {nil, nil, true},
	} {
		instance := instanceOf("dns", "one", "edge", func(i *bind9.Bind9Instance) { i.Spec.ZoneNamespaces = test.consents })
		if got := len(ServersOf(bind9Class(test.class), []*bind9.Bind9Instance{instance}, noCluster)) == 1; got != test.want {
			t.Errorf("%s: %t, want %t", what, got, test.want)
		}
	}
	// A default class admits all namespaces; an instance has the consent of its cluster.
	everywhere := bind9Class(nil)
	everywhere.Annotations = map[string]string{v1alpha1.AnnotationDefaultClass: "true"}
	instance := instanceOf("dns", "one", "edge", func(i *bind9.Bind9Instance) { i.Spec.ZoneNamespaces = nil })
	cluster := &bind9.Bind9Cluster{}
	of := func(namespace, name string) *bind9.Bind9Cluster {
		if namespace != "dns" || name != "edge" {
			return nil
		}
		return cluster
	}
	if got := ServersOf(everywhere, []*bind9.Bind9Instance{instance}, of); len(got) != 0 {
		t.Errorf("without consent: %+v", got)
	}
	cluster.Spec.ZoneNamespaces = &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}
	if got := ServersOf(everywhere, []*bind9.Bind9Instance{instance}, of); len(got) != 1 {
		t.Errorf("with that of its cluster: %+v", got)
	}
}

// The controller lists servers every few seconds.
func TestServersOf_costsNothingForOthers(t *testing.T) {
	of := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Bind9: &v1alpha1.Bind9Provider{
		ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: "dns", Name: "prod"}, InstancesFrom: []v1alpha1.Bind9InstanceSelection{{Namespaces: []string{"edge", "dns"}}},
	}}}
	if got := ServerNamespaces(of); !slices.Equal(got, []string{"dns", "edge"}) {
		t.Errorf("namespaces %q", got)
	}
	of.Spec.Bind9.InstancesFrom = nil
	var others []*bind9.Bind9Instance
	for range 100 {
		others = append(others, &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "other-0"}, Spec: bind9.Bind9InstanceSpec{ClusterRef: &bind9.ClusterReference{Name: "other"}}})
	}
	if n := testing.AllocsPerRun(10, func() { ServersOf(of, others, nil) }); n > 5 {
		t.Errorf("%v allocations for a hundred servers of another class", n)
	}
}
