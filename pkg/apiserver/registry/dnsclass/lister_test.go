// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsclass

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic/registry"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/test/must"
)

// A zone may have no name servers if each of its classes has its own, such as one that updates servers by RFC 2136. The
// classes are those in dnsClassRefs, else the default class; a missing class has none (S6.15).
func TestLister_classesHaveNameServers_S6_15(t *testing.T) {
	l := NewLister(unread(), func(string) map[string]string { return nil })
	for name, spec := range map[string]v1alpha1.DNSClassSpec{
		"update":   {RFC2136: &v1alpha1.RFC2136Provider{}},
		"agents":   {Bind9: &v1alpha1.Bind9Provider{Mode: v1alpha1.Bind9ModeUpdate}},
		"catalog":  {Bind9: &v1alpha1.Bind9Provider{Mode: v1alpha1.Bind9ModeCatalog}},
		"transfer": {Transfer: &v1alpha1.TransferProvider{}},
		"skips":    {Webhook: &v1alpha1.WebhookProvider{ApexNS: v1alpha1.ApexNSSkip}},
		"delivers": {Webhook: &v1alpha1.WebhookProvider{ApexNS: v1alpha1.ApexNSDeliver}},
	} {
		must.Succeed(t, l.informer.GetIndexer().Add(&v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}))
	}
	expect := func(want bool, classes ...string) {
		t.Helper()
		zone := &v1alpha1.Zone{}
		for _, name := range classes {
			zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, v1alpha1.DNSClassReference{Name: name})
		}
		if got := l.HaveNameServers(zone); got != want {
			t.Errorf("%q: %t", classes, got)
		}
	}
	expect(false)
	for _, name := range []string{"update", "agents", "skips"} {
		expect(true, name)
		expect(false, name, "transfer")
		expect(false, name, "absent")
	}
	for _, name := range []string{"catalog", "transfer", "delivers", "absent"} {
		expect(false, name)
	}
	expect(true, "update", "skips")
	byDefault := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	byDefault.Annotations = map[string]string{v1alpha1.AnnotationDefaultClass: "true"}
	byDefault.Spec.RFC2136 = &v1alpha1.RFC2136Provider{}
	must.Succeed(t, l.informer.GetIndexer().Add(byDefault))
	expect(true)
	expect(false, "delivers")
}

// unread is a storage of classes without etcd.
func unread() *kind.REST[*v1alpha1.DNSClass] {
	return &kind.REST[*v1alpha1.DNSClass]{Store: &registry.Store{NewFunc: func() runtime.Object { return &v1alpha1.DNSClass{} }}}
}

func TestLister_defaultClassesAreForTheLabelsOfANamespace(t *testing.T) {
	l := NewLister(unread(), func(namespace string) map[string]string {
		return map[string]map[string]string{"team-a": {"dns": "public"}}[namespace]
	})
	add := func(label string) {
		one := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: label, Annotations: map[string]string{v1alpha1.AnnotationDefaultClass: "true"}}}
		one.Spec.Namespaces = &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"dns": label}}}
		must.Succeed(t, l.informer.GetIndexer().Add(one))
	}
	add("private")
	if len(l.defaultClasses("team-a", "")) > 0 {
		t.Error("a class of another label delivers")
	}
	if !l.MayDeliver("team-a", "") {
		t.Error("S6.13: no class delivers, though not all of them are listed")
	}
	add("public")
	for namespace, want := range map[string]int{"team-a": 1, "team-b": 0} {
		if got := l.defaultClasses(namespace, ""); len(got) != want {
			t.Errorf("%s: %v", namespace, got)
		}
		if len(l.defaultClasses(namespace, "dev")) > 0 {
			t.Errorf("%s: S1.9: a class that names no views delivers a view", namespace)
		}
	}
}
