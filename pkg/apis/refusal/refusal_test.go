// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package refusal_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/pkg/apis/refusal"
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

// A cited rule adds causes to an API error for programs to read. Users see no difference: the message, and the lines
// that kubectl prints, each once, are the same as without the rule.
func TestNewInvalid_hasTheRulesThatAreCited(t *testing.T) {
	path := field.NewPath("spec")
	errs := field.ErrorList{
		refusal.Cite("S6.6", field.Invalid(path.Child("retry"), 9, "is too large")),
		field.Required(path.Child("domainName"), "name it").WithOrigin("format=k8s-short-name"),
		refusal.Cite("S5.9", field.Forbidden(path.Child("limits"), "leave it out")),
		refusal.Cite("S6.6", field.Invalid(path.Child("retry"), 9, "is too large")),
	}
	plain := apierrors.NewInvalid(schema.GroupKind{Kind: "Zone"}, "z", errs)
	ruled := refusal.NewInvalid(schema.GroupKind{Kind: "Zone"}, "z", errs)
	want := []refusal.Refusal{
		{-1, -1, "spec.retry", "S6.6", metav1.CauseTypeFieldValueInvalid, "Invalid value: 9: is too large (S6.6)"},
		{-1, -1, "spec.domainName", "", metav1.CauseTypeFieldValueRequired, "Required value: name it"},
		{-1, -1, "spec.limits", "S5.9", "FieldValueForbidden", "Forbidden: leave it out (S5.9)"},
		{-1, -1, "spec.retry", "S6.6", metav1.CauseTypeFieldValueInvalid, "Invalid value: 9: is too large (S6.6)"},
	}
	if got := refusal.Of(ruled); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	print := func(of *apierrors.StatusError) (lines []string) {
		for _, c := range of.ErrStatus.Details.Causes {
			if line := c.Field + ": " + c.Message; !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		return append(lines, of.ErrStatus.Message)
	}
	if got, want := print(ruled), print(plain); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	refusal.AddCited(&metav1.Status{}, errs)
}

func TestCutWarning_readsWhatIsWritten(t *testing.T) {
	for _, test := range []struct {
		written    string
		items      string
		rule, text string
	}{
		{refusal.Warning("S5.14", "spec.ttl: 5s is short"), "[]", "S5.14", "spec.ttl: 5s is short"},
		{refusal.Warning("", "spec.ttl: 5s is short"), "[]", "", "spec.ttl: 5s is short"},
		{refusal.OfItem(12, "www.v2", refusal.Warning("S2.16", "")), "[12]", "S2.16", ""},
		{refusal.OfItem(0, "x", "the host is nobody's"), "[0]", "", "the host is nobody's"},
		{refusal.OfItem(1, "x", "spec.items[1] (other): S5.14: ) (: text"), "[1]", "", "spec.items[1] (other): S5.14: ) (: text"},
		{refusal.Warning("S4.18", "spec.items[1] (x): y"), "[]", "S4.18", "spec.items[1] (x): y"},
		{"S5.14: spec.ttl: 5s is short", "[]", "S5.14", "spec.ttl: 5s is short"},
		{"spec.items[3] (www-a): S5.14: spec.ttl: 5s is short", "[3]", "S5.14", "spec.ttl: 5s is short"},
		{refusal.WithItems(refusal.OfItem(0, "x", "S5.14: y"), 4, 17), "[0 4 17]", "S5.14", "y"},
		{refusal.WithItems(refusal.OfItem(0, "x", "S5.14: y")), "[0]", "S5.14", "y"},
		{refusal.WithItems("S5.14: y", 4), "[]", "S5.14", "y"},
		{"spec.items[3] (www-a, and items 4 7): S5.14: spec.ttl: 5s is short", "[3 4 7]", "S5.14", "spec.ttl: 5s is short"},
	} {
		items, rule, text := refusal.CutWarning(test.written)
		if fmt.Sprint(items) != test.items || rule != test.rule || text != test.text {
			t.Errorf("%q: items %v, rule %q, %q", test.written, items, rule, text)
		}
	}
	for _, text := range []string{"", "the host (S4.18): is nobody's", "spec.items[1] is wrong", "spec.items[-1] (x): y",
		"spec.items[01] (x): y", "spec.items[1].apply (x): y", "S5: x", "S5.: x", "S.1: x", "S5.14:x", "S05.1: x", "S5.1.2: x", "s5.1: x",
		"S5.-1: x", "N5.1: x", " S5.1: x"} {
		if items, rule, got := refusal.CutWarning(text); items != nil || rule != "" || got != text {
			t.Errorf("%q: items %v, rule %q, %q", text, items, rule, got)
		}
	}
}

func TestNameItem(t *testing.T) {
	for warning, want := range map[string]string{
		refusal.OfItem(12, "www.v2", "S2.16: ) (: it goes"): "record www.v2: S2.16: ) (: it goes",
		"spec.items[1] (x, and items 2 9): S5.14: y":        "record x and 2 more: S5.14: y",
		"S5.14: spec.items[1] (x): y":                       "S5.14: spec.items[1] (x): y",
		"":                                                  "",
	} {
		if got := refusal.NameItem(warning); got != want {
			t.Errorf("%q: %q, want %q", warning, got, want)
		}
	}
}

func TestCutMore_readsMore(t *testing.T) {
	for text, want := range map[string]string{refusal.More(7): "7 []", refusal.More(12, 0, 99): "12 [0 99]", "": "0 []", "and more": "0 []",
		"and -3 more": "0 []", "spec.ttl: and 3 more": "0 []", "and 3 more, of items x": "3 []"} {
		n, items := refusal.CutMore(text)
		if got := fmt.Sprint(n, " ", items); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// CutWarning parses every text that Warning and OfItem return, and loses nothing of any other text.
func FuzzCutWarning(f *testing.F) {
	f.Add(uint16(3), "www-a", uint16(5), uint16(14), "spec.ttl: 5s is short")
	f.Add(uint16(0), "", uint16(0), uint16(0), "S5.14: spec.items[1] (x): S5.14: ")
	f.Fuzz(func(t *testing.T, index uint16, name string, section, sentence uint16, text string) {
		rule := fmt.Sprintf("S%d.%d", section, sentence)
		written := refusal.Warning(rule, text)
		if items, cut, got := refusal.CutWarning(written); items != nil || cut != rule || got != text {
			t.Errorf("%q: items %v, rule %q, %q", written, items, cut, got)
		}
		if items, cut, got := refusal.CutWarning(text); items == nil && refusal.Warning(cut, got) != text {
			t.Errorf("%q is read as rule %q, %q", text, cut, got)
		}
		if strings.ContainsAny(name, "),") {
			return // names of objects have neither
		}
		written = refusal.OfItem(int(index), name, written)
		if items, cut, got := refusal.CutWarning(written); !slices.Equal(items, []int{int(index)}) || cut != rule || got != text {
			t.Errorf("%q: items %v, rule %q, %q", written, items, cut, got)
		}
	})
}
