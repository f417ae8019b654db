// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsclass

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

func strategyWith(inlineSecrets bool) kind.Strategy[*v1alpha1.DNSClass] {
	return kind.Strategy[*v1alpha1.DNSClass]{Kind: NewKind(inlineSecrets, describeDeleted)}
}

// describeDeleted reports withdrawn zones for a deletion only.
func describeDeleted(_, after *v1alpha1.DNSClass) string {
	if after != nil {
		return ""
	}
	return "2 zones (a.example., b.example.)"
}

func makeClass() *v1alpha1.DNSClass {
	return &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{Name: "public", Generation: 3, Labels: map[string]string{"a": "b"}},
		Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"team-a"}},
			Webhook:    &v1alpha1.WebhookProvider{Server: "https://hook.example.net", HMACAuth: &v1alpha1.HMACAuth{Secret: "x"}},
		},
		Status: v1alpha1.DNSClassStatus{ObservedGeneration: 3, Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Reason: "SecretNotFound", Message: "no Secret"}}},
	}
}

// A change of spec removes the condition Stalled, because the cause may be gone; other updates keep it (S7.4).
func TestStrategy_prepare(t *testing.T) {
	before, after := makeClass(), makeClass()
	before.Status.Conditions = append(before.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: "True",
		Reason: "SecretNotFound"})
	strategyWith(false).PrepareForUpdate(t.Context(), after, before)
	if len(after.Status.Conditions) != 2 {
		t.Errorf("no change of spec: %+v", after.Status)
	}
	after.Spec.Paused = true
	strategyWith(false).PrepareForUpdate(t.Context(), after, before)
	if after.Generation != 4 || len(after.Status.Conditions) != 1 || len(before.Status.Conditions) != 2 {
		t.Errorf("a change of spec: generation %d, %+v", after.Generation, after.Status)
	}
}

// Promise 2.
func TestStrategy_inlineSecrets(t *testing.T) {
	if errs := strategyWith(false).Validate(t.Context(), makeClass()); len(errs) != 1 || errs[0].Field != "spec.webhook.hmacAuth.secret" {
		t.Errorf("not told to take them: %v", errs)
	}
	if errs := strategyWith(true).Validate(t.Context(), makeClass()); len(errs) != 0 {
		t.Errorf("told to take them: %v", errs)
	}
}

// A change of labels has no warning about the spec.
func TestStrategy_warnings(t *testing.T) {
	before, after := makeClass(), makeClass()
	after.Labels = nil
	strategyWith(false).PrepareForUpdate(t.Context(), after, before)
	if warnings := strategyWith(false).WarningsOnUpdate(t.Context(), after, before); warnings != nil {
		t.Errorf("warnings %q", warnings)
	}
	after.Spec.Namespaces = nil
	strategyWith(false).PrepareForUpdate(t.Context(), after, before)
	if warnings := strategyWith(false).WarningsOnUpdate(t.Context(), after, before); len(warnings) != 2 {
		t.Errorf("warnings %q", warnings)
	}
}

func TestDelete_warnsWhereTheClassIsInUse(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*v1alpha1.DNSClass)
		want   int
	}{
		"in use":        {func(class *v1alpha1.DNSClass) {}, 1},
		"not in use":    {func(class *v1alpha1.DNSClass) { class.Finalizers = nil }, 0},
		"going already": {func(class *v1alpha1.DNSClass) { class.DeletionTimestamp = &metav1.Time{} }, 0},
	} {
		class := makeClass()
		class.Finalizers = []string{v1alpha1.FinalizerDelivery}
		c.change(class)
		result := &recorder{}
		check := NewKind(false, describeDeleted).CheckDeletion
		if err := check(warning.WithWarningRecorder(t.Context(), result), class, false); err != nil || len(*result) != c.want {
			t.Errorf("%s: %v, %q", what, err, *result)
		}
	}
}

type recorder []string

func (r *recorder) AddWarning(_, text string) { *r = append(*r, text) }

func TestRow(t *testing.T) {
	want := []any{"public", "webhook", false, "False", "<unknown>", "team-a", "SecretNotFound: no Secret"}
	if got := row(makeClass()); !reflect.DeepEqual(got, want) {
		t.Errorf("row %q, want %q", got, want)
	}
	every := &metav1.LabelSelector{}
	some := &metav1.LabelSelector{MatchLabels: map[string]string{"dns": "public"}}
	for _, test := range []struct {
		selection *v1alpha1.NamespaceSelection
		def       string
		want      string
	}{
		{nil, "", "<none>"}, {nil, "true", "<all>"}, {&v1alpha1.NamespaceSelection{}, "true", "<none>"},
		{&v1alpha1.NamespaceSelection{Names: []string{"a"}, Selector: every}, "", "<all>"},
		{&v1alpha1.NamespaceSelection{Names: []string{"a", "b"}, Selector: some}, "", "a,b,dns=public"},
	} {
		class := makeClass()
		class.Spec.Namespaces, class.Annotations = test.selection, map[string]string{v1alpha1.AnnotationDefaultClass: test.def}
		if got := describeNamespaces(class); got != test.want {
			t.Errorf("%+v: %s, want %s", test.selection, got, test.want)
		}
	}
	for want, spec := range map[string]v1alpha1.DNSClassSpec{
		"transfer": {Transfer: &v1alpha1.TransferProvider{}}, "rfc2136": {RFC2136: &v1alpha1.RFC2136Provider{}}, "<none>": {},
	} {
		class := makeClass()
		class.Spec = spec
		if got := row(class)[1]; got != want {
			t.Errorf("provider %s, want %s", got, want)
		}
	}
}
