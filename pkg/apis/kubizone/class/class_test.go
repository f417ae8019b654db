// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// DNSClass.spec.namespaces selects the namespaces that may use the class, by name or label. If the field is absent,
// only a default class admits namespaces, and then all. A present selection without names, or with a broken selector,
// admits none, also in a default class.
func TestAdmits(t *testing.T) {
	names := &v1alpha1.NamespaceSelection{Names: []string{"team-a", "team-b"}}
	label := &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"dns": "public"}}}
	either := &v1alpha1.NamespaceSelection{Names: names.Names, Selector: label.Selector}
	broken := &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "dns", Operator: "Is"}}}}
	for _, test := range []struct {
		name       string
		selection  *v1alpha1.NamespaceSelection
		annotation string
		namespace  string
		labels     map[string]string
		want       bool
	}{
		{"absent", nil, "", "team-a", nil, false},
		{"absent, default", nil, "true", "team-a", nil, true},
		{"absent, not quite default", nil, "yes", "team-a", nil, false},
		{"none, though default", &v1alpha1.NamespaceSelection{}, "true", "team-a", nil, false},
		{"by name", names, "", "team-b", nil, true},
		{"by another name", names, "true", "team-c", map[string]string{"dns": "public"}, false},
		{"by label", label, "", "team-c", map[string]string{"dns": "public"}, true},
		{"by another label", label, "", "team-a", map[string]string{"dns": "private"}, false},
		{"by either, the name", either, "", "team-a", nil, true},
		{"by either, the label", either, "", "team-c", map[string]string{"dns": "public"}, true},
		{"empty selector", &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{}}, "", "team-a", nil, true},
		{"broken selector", broken, "true", "team-a", nil, false},
	} {
		class := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Namespaces: test.selection}}
		class.Annotations = map[string]string{v1alpha1.AnnotationDefaultClass: test.annotation}
		if got := Admits(class, test.namespace, test.labels); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// A class delivers the views in spec.views, where `*` means every view. A class without the field delivers only the
// default view, which has the empty name (S1.9).
func TestDelivers_S1_9(t *testing.T) {
	for _, test := range []struct {
		views []string
		view  string
		want  bool
	}{
		{nil, "", true}, {nil, "dev", false}, {[]string{"dev"}, "dev", true}, {[]string{"dev"}, "", false}, {[]string{"", "dev"}, "", true},
		{[]string{"*"}, "", true}, {[]string{"*"}, "dev", true}, {[]string{"d*"}, "dev", false},
	} {
		if got := Delivers(&v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Views: test.views}}, test.view); got != test.want {
			t.Errorf("views %q, view %q: %v", test.views, test.view, got)
		}
	}
}

func TestDeliveryName(t *testing.T) {
	ref := v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: "public"}
	first := DeliveryName("example-org", "u1", ref)
	if !strings.HasPrefix(first, "example-org-") || len(first) != len("example-org-")+hashWidth {
		t.Errorf("name %s", first)
	}
	if again := DeliveryName("example-org", "u1", v1alpha1.DNSClassReference{Name: "public"}); again != first {
		t.Errorf("%s and %s for the same class", again, first)
	}
	for name, other := range map[string]string{
		"zone made anew": DeliveryName("example-org", "u2", ref),
		"kind":           DeliveryName("example-org", "u1", v1alpha1.DNSClassReference{Kind: v1alpha1.KindBind9Cluster, Name: "public"}),
		"class":          DeliveryName("example-org", "u1", v1alpha1.DNSClassReference{Name: "private"}),
	} {
		if other == first {
			t.Errorf("%s: the same name %s", name, other)
		}
	}
	for _, zone := range []string{strings.Repeat("a", 253), strings.Repeat("a", 241) + ".b", strings.Repeat("a", 240) + "-.b" + strings.Repeat("c", 10)} {
		name := DeliveryName(zone, types.UID("u"), ref)
		if wrong := apivalidation.NameIsDNSSubdomain(name, false); len(wrong) > 0 || len(name) > maxName {
			t.Errorf("%d characters, %v: %s", len(name), wrong, name)
		}
	}
}

// Every pointer field of DNSClassSpec is a provider block (for example `rfc2136`) that Providers lists, or an exception
// listed here. Without this test a new block could be forgotten, and would have no table, no validation and no
// controller.
func TestProviders_areAllBlocks(t *testing.T) {
	others := []string{"defaultTTL", "namespaces", "requestsPerSecond", "driftInterval"}
	for field := range reflect.TypeFor[v1alpha1.DNSClassSpec]().Fields() {
		block, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Type.Kind() == reflect.Pointer && !slices.Contains(others, block) && !slices.Contains(Providers(), block) {
			t.Errorf("DNSClassSpec.%s is a %s: end the name of its type in Provider where it is a provider block, or add %q to the others here", field.Name, field.Type, block)
		}
	}
	for _, block := range Providers() {
		var spec v1alpha1.DNSClassSpec
		must.Succeed(t, json.Unmarshal([]byte(`{"`+block+`": {}}`), &spec))
		if got := ProvidersOf(&spec); !slices.Equal(got, []string{block}) || ProviderOf(&spec) != block {
			t.Errorf("%s: %q", block, got)
		}
	}
	if got := ProviderOf(&v1alpha1.DNSClassSpec{}); got != "" {
		t.Errorf("without a block: %q", got)
	}
}
