// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package refusal_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubi.zone/kubizone/pkg/refusal"
)

func TestOf_readsEachPart(t *testing.T) {
	held := metav1.StatusCause{Type: "NameHeld", Field: "spec.items[3].apply.spec.domainName", Message: "another namespace has it (S4.8)"}
	unmet := metav1.StatusCause{Type: "PrerequisiteFailed", Field: "spec.prerequisites[1]", Message: "it is not as required"}
	ruled := metav1.Status{Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{held}}}
	refusal.AddRule(&ruled, "S4.8")
	plain := apierrors.NewNotFound(schema.GroupResource{Resource: "zones"}, "org")
	for what, test := range map[string]struct {
		err  error
		want []refusal.Refusal
	}{
		"no answer":      {errors.New("refused"), nil},
		"without causes": {fmt.Errorf("read: %w", plain), []refusal.Refusal{{-1, -1, "", "", "NotFound", `zones "org" not found`}}},
		"with causes": {&apierrors.StatusError{ErrStatus: metav1.Status{Details: &metav1.StatusDetails{Causes: append(
			ruled.Details.Causes, unmet)}}}, []refusal.Refusal{
			{3, -1, "spec.domainName", "S4.8", held.Type, held.Message}, {-1, 1, "", "", unmet.Type, unmet.Message}}},
	} {
		if got := refusal.Of(test.err); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", what, got, test.want)
		}
	}
}

func TestAddRule_givesAnAnswerWithoutCausesOne(t *testing.T) {
	err := apierrors.NewTooManyRequests("try again (S4.22)", 5)
	refusal.AddRule(&err.ErrStatus, "")
	if n := len(err.ErrStatus.Details.Causes); n > 0 {
		t.Errorf("%d causes without a rule", n)
	}
	refusal.AddRule(&err.ErrStatus, "S4.22")
	want := []refusal.Refusal{{-1, -1, "", "S4.22", "TooManyRequests", "try again (S4.22)"}}
	if got := refusal.Of(err); !reflect.DeepEqual(got, want) || err.ErrStatus.Details.RetryAfterSeconds != 5 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestCutItem_readsWhatOfItemWrites(t *testing.T) {
	for _, text := range []string{"", "the host is nobody's", "spec.items[1] (other): ) (: text"} {
		if i, got := refusal.CutItem(refusal.OfItem(12, "www.v2", text)); i != 12 || got != text {
			t.Errorf("%q: item %d, %q", text, i, got)
		}
	}
	for _, text := range []string{"", "the host (S4.18): is nobody's", "spec.items[1] is wrong", "spec.items[-1] (x): y",
		"spec.items[01] (x): y", "spec.items[1].apply (x): y"} {
		if i, got := refusal.CutItem(text); i != -1 || got != text {
			t.Errorf("%q: item %d, %q", text, i, got)
		}
	}
}
