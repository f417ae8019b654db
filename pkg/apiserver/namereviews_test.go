// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// S14.2: for a name without a rule for the client's namespace, the answer is equal to the octet whether there is no
// zone, or the name exists, is claimed or is in a private child zone. S14.1: a rule of a Delegation changes the
// answer at once; S14.3: the list of rules follows.
func TestNameReviews_answerOctetByOctet_S14_2(t *testing.T) {
	api := startWholeServer(t)
	ctx := t.Context()
	ask := func(ns, fqdn string) string {
		t.Helper()
		body := fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"NameReview","spec":{"name":%q,"type":"A"}}`, fqdn)
		answer, err := api.RESTClient().Post().Namespace(ns).Resource("namereviews").SetHeader("Content-Type", "application/json").
			SetHeader("Accept", "application/json").Body([]byte(body)).DoRaw(ctx)
		if err != nil {
			t.Fatalf("%s %s: %v", ns, fqdn, err)
		}
		return string(answer)
	}
	names := []string{"example.org", "www.example.org.", "*.example.org", "below.private.example.org", "absent.example.org"}
	before := map[string]string{}
	for _, fqdn := range names {
		before[fqdn] = ask("team-b", fqdn)
	}
	makeRules := func(namespace string, zones ...string) []v1alpha1.DelegationRule {
		return []v1alpha1.DelegationRule{{Namespace: namespace, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}, Zones: zones}}
	}
	for name, rules := range map[string][]v1alpha1.DelegationRule{"example.org.": append(makeRules("team-a"),
		makeRules("platform", "private")...), "private.example.org.": makeRules("platform")} {
		zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: strings.Trim(name, ".")}, Spec: v1alpha1.ZoneSpec{
			DomainName: name, Delegations: rules, Contact: "dns@example.org"}}
		must.Get(api.Zones("platform").Create(ctx, zone, metav1.CreateOptions{}))(t)
	}
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "www"}, Spec: v1alpha1.RecordSpec{DomainName: "www.example.org.",
		Type: "A", RData: "192.0.2.1"}}
	must.Get(api.Records("team-a").Create(ctx, record, metav1.CreateOptions{}))(t)
	for _, fqdn := range names {
		if after := ask("team-b", fqdn); after != before[fqdn] {
			t.Errorf("%s: %s, and without a zone %s", fqdn, after, before[fqdn])
		}
	}
	if mine := ask("team-a", "www.example.org"); !strings.Contains(mine, `"allowed":true,"rule":"*","claimed":"Mine"`) {
		t.Error(mine)
	}
	rule := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: v1alpha1.DelegationSpec{Namespaces: []string{"team-b"},
		Records: []v1alpha1.RecordDelegation{{Pattern: "www"}}}}
	rule.Spec.ZoneRef.Name = "example.org"
	must.Get(api.Delegations("platform").Create(ctx, rule, metav1.CreateOptions{}))(t)
	if after := ask("team-b", "www.example.org."); !strings.Contains(after, `"claimed":"Another","contact":"dns@example.org"`) ||
		strings.Contains(after, "team-a") {
		t.Error(after)
	}
	var rules []v1alpha1.NameReviewRule
	for end := time.Now().Add(time.Minute); len(rules) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		rules = must.Get(api.NameReviews("team-b").Create(ctx, &v1alpha1.NameReview{}, metav1.CreateOptions{}))(t).Status.Rules
	}
	if len(rules) != 1 || rules[0].Zone != "example.org." || rules[0].Records[0].Pattern != "www" {
		t.Errorf("%+v", rules)
	}
}
