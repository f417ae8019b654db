// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsclass

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

func TestLister_defaultClassesAreForTheLabelsOfANamespace(t *testing.T) {
	l := NewLister(nil, func(namespace string) map[string]string {
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
