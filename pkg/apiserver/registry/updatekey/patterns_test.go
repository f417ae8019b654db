// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

func noRules(context.Context, string) ([]v1alpha1.NameReviewRule, bool) { return nil, false }

type warningTexts struct{ texts []string }

func (h *warningTexts) AddWarning(_, text string) { h.texts = append(h.texts, text) }

// S13.1: a pattern without a rule for the namespace has a Warning: its updates are all refused.
func TestKind_warnsOfPatternsWithoutARule_S13_1(t *testing.T) {
	rules := func(_ context.Context, namespace string) ([]v1alpha1.NameReviewRule, bool) {
		if namespace != "team" {
			t.Errorf("rules of %q", namespace)
		}
		rule := func(zone, view string, elsewhere bool, patterns ...string) v1alpha1.NameReviewRule {
			r := v1alpha1.NameReviewRule{Zone: zone, View: view, Elsewhere: elsewhere}
			for _, p := range patterns {
				r.Records = append(r.Records, v1alpha1.RecordDelegation{Pattern: p})
			}
			return r
		}
		return []v1alpha1.NameReviewRule{
			rule("example.org.", "", false, "*.apps", "apps", "_acme-challenge.*", "abs.example.org."),
			rule("example.org.", "", true, "*.dev"),
			rule("example.com.", "", false, "*.apps"),
			rule("inside.example.", "inside", false, "*"),
			{Zone: "zones.example.", Zones: []string{"*"}},
		}, true
	}
	for pattern, warned := range map[string]bool{
		"x.apps.example.org.": false, "apps.example.org.": false, "*.apps.example.org.": false, "*.x.apps.example.org.": false,
		"*.example.org.": false, "*.org.": false, "*.": false, "abs.example.org.": false, "_acme-challenge.*.example.org.": false,
		"_acme-challenge.www.example.org.": false, "*.www.example.org.": false,
		"*s.example.org.": false, "x.apps.example.com.": false, "*.www.example.com.": true, "*.apps.example.com.": false,
		"www.example.org.": true, "example.org.": true, "x.dev.example.org.": true,
		"x.inside.example.": true, "*.zones.example.": true, "*.example.net.": true, "a.org.": true,
	} {
		result := &warningTexts{}
		ctx := warning.WithWarningRecorder(genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "author"}), result)
		must.Succeed(t, NewKind(verbs("create patch delete"), rules, nil).Check(ctx, newKey(pattern), &v1alpha1.UpdateKey{}))
		if (len(result.texts) > 0) != warned ||
			warned && !strings.HasPrefix(result.texts[0], "S13.1: spec.records[0].pattern: no rule gives") {
			t.Errorf("%s: %q", pattern, result.texts)
		}
	}
	inside := newKey("x.inside.example.", "x.example.org.")
	inside.Spec.View = "inside"
	result := &warningTexts{}
	ctx := warning.WithWarningRecorder(genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "author"}), result)
	must.Succeed(t, NewKind(verbs("create patch delete"), rules, nil).Check(ctx, inside, &v1alpha1.UpdateKey{}))
	if len(result.texts) != 1 || !strings.HasPrefix(result.texts[0], "S13.1: spec.records[1].pattern") {
		t.Errorf("view inside: %q", result.texts)
	}
}
