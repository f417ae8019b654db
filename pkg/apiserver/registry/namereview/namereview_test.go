// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package namereview

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// editor is the namespace in which Records may be created.
type editor string

func (e editor) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() == "create" && a.GetResource() == "records" && a.GetNamespace() == string(e) && a.GetSubresource() == "" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

type listed struct {
	rest.Lister
	list runtime.Object
}

func (l listed) List(ctx context.Context, _ *internalversion.ListOptions) (runtime.Object, error) {
	if genericapirequest.NamespaceValue(ctx) != "" {
		return nil, fmt.Errorf("the rules of namespace %q alone were asked for", genericapirequest.NamespaceValue(ctx))
	}
	return l.list, nil
}

// door has zones with rules, and counts questions.
type door struct {
	zones       v1alpha1.ZoneList
	delegations v1alpha1.DelegationList
	full        error
	asked       []string
}

func (d *door) askName(t *testing.T, by editor, ns string, spec v1alpha1.NameReviewSpec) (*v1alpha1.NameReview, error) {
	t.Helper()
	r := NewREST(Config{Authorizer: by, Zones: listed{list: &d.zones}, Delegations: listed{list: &d.delegations},
		Admit: func(_ context.Context, asked *v1alpha1.Record) error {
			if asked.Namespace != ns || asked.UID == "" || asked.CreationTimestamp.IsZero() {
				t.Errorf("the budgets are asked about %+v", asked.ObjectMeta)
			}
			return d.full
		},
		Review: func(_ context.Context, asked *v1alpha1.Record) (v1alpha1.NameReviewStatus, error) {
			d.asked = append(d.asked, asked.Spec.DomainName+" "+asked.Spec.Type+" "+asked.Spec.View)
			return v1alpha1.NameReviewStatus{Zone: "example.org.", Allowed: true}, nil
		}})
	ctx := genericapirequest.WithUser(genericapirequest.WithNamespace(t.Context(), ns), &user.DefaultInfo{Name: "someone"})
	object := &v1alpha1.NameReview{Spec: spec, Status: v1alpha1.NameReviewStatus{Contact: "forged"}}
	out, err := r.Create(ctx, object, nil, &metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return out.(*v1alpha1.NameReview), nil
}

// Only a user that may create Records in the namespace gets an answer to a NameReview; a namespace without budget gets
// 429. A status sent by the client is discarded (S14.1).
func TestCreate_asksForTheRightToWrite_S14_1(t *testing.T) {
	d := &door{}
	spec := v1alpha1.NameReviewSpec{Name: "www.example.org", Type: "a", View: "inside"}
	for _, ns := range []string{"team-b", "default"} {
		if _, err := d.askName(t, "team-a", ns, spec); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "S14.1") {
			t.Errorf("in %s: %v", ns, err)
		}
		if _, err := d.askName(t, "team-a", ns, v1alpha1.NameReviewSpec{}); !apierrors.IsForbidden(err) {
			t.Errorf("the rules of %s: %v", ns, err)
		}
	}
	review, err := d.askName(t, "team-a", "team-a", spec)
	if err != nil || !review.Status.Allowed || review.Status.Contact != "" ||
		strings.Join(d.asked, ";") != "www.example.org. a inside" {
		t.Errorf("%+v, %v; decided: %q", review, err, d.asked)
	}
	d.full = apierrors.NewTooManyRequests("writes too fast (S9.2)", 3)
	if _, err := d.askName(t, "team-a", "team-a", spec); !apierrors.IsTooManyRequests(err) || len(d.asked) != 1 {
		t.Errorf("without budget: %v", err)
	}
	if _, err := d.askName(t, "team-a", "team-a", v1alpha1.NameReviewSpec{}); !apierrors.IsTooManyRequests(err) {
		t.Errorf("the rules without budget: %v", err)
	}
}

// A NameReview asks for a name and type. If no Record could have them, the question is refused with the field's error,
// like the Record (S1.3, S5.4).
func TestCreate_validates_S5_4(t *testing.T) {
	for want, spec := range map[string]v1alpha1.NameReviewSpec{
		"spec.type: Required value":          {Name: "www.example.org."},
		"spec.type: Invalid value: \"AA\"":   {Name: "www.example.org.", Type: "AA"},
		"spec.name: Required value":          {Type: "A"},
		"spec.name: Invalid value":           {Name: "a..b", Type: "A"},
		"an NS is not allowed at a wildcard": {Name: "*.example.org.", Type: "NS"},
		"spec.view: Invalid value":           {Name: "www.example.org.", Type: "A", View: "A B"},
	} {
		if _, err := (&door{}).askName(t, "team-a", "team-a", spec); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", spec, err, want)
		}
	}
}

func makeZone(ns, fqdn, view string, rules ...v1alpha1.DelegationRule) v1alpha1.Zone {
	return v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "z-" + strings.Trim(fqdn, ".")},
		Spec:   v1alpha1.ZoneSpec{Delegations: rules, Contact: "dns@example.org"},
		Status: v1alpha1.ZoneStatus{FQDN: fqdn, View: view}}
}

func makeRule(ns, pattern string, zones ...string) v1alpha1.DelegationRule {
	records := []v1alpha1.RecordDelegation{{Pattern: pattern, Types: []string{"A"}}}
	return v1alpha1.DelegationRule{Namespace: ns, Records: records, Zones: zones}
}

// S14.3, S4.2, S4.3: a namespace gets its own and the general rules in force, with only the zone: no rules of others,
// nothing pending or not accepted.
func TestCreate_listsTheRulesOfTheNamespace_S14_3(t *testing.T) {
	d := &door{}
	d.zones.Items = []v1alpha1.Zone{
		makeZone("dns", "org.", "", makeRule("team-a", "mine", "dev"), makeRule("team-b", "theirs"), makeRule("", "all")),
		makeZone("dns", "inside.", "inside", makeRule("team-a", "inner")),
		makeZone("dns", "", "", makeRule("team-a", "pending")),
		makeZone("hidden", "acquisition.", "", makeRule("hidden", "*")),
		makeZone("dns", "net.", "", v1alpha1.DelegationRule{Namespace: "team-a"}),
		makeZone("dns", "com.", "", v1alpha1.DelegationRule{Namespaces: []string{"team-b", "team-a"}, Zones: []string{"both"}},
			v1alpha1.DelegationRule{Namespaces: []string{"team-b"}, Zones: []string{"theirs"}}),
	}
	delegation := func(zone string, inForce bool, to ...string) v1alpha1.Delegation {
		out := v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: "dns"}, Spec: v1alpha1.DelegationSpec{Namespaces: to,
			Records: []v1alpha1.RecordDelegation{{Pattern: "by." + to[0]}}}}
		out.Spec.ZoneRef.Name = zone
		if inForce {
			out.Status.ZoneRef = &v1alpha1.AdoptingZone{}
		}
		return out
	}
	d.delegations.Items = []v1alpha1.Delegation{delegation("z-net", true, "team-c", "team-a"), delegation("z-net", false, "team-a"),
		delegation("z-net", true, "team-b"), delegation("z-acquisition", true, "team-a")} // of a Zone in another namespace
	for view, want := range map[string]string{
		"":       "com. both; inside.(inside) inner; net. by.team-c; org. mine dev; org. all",
		"inside": "inside.(inside) inner",
		"none":   "",
	} {
		review := must.Get(d.askName(t, "team-a", "team-a", v1alpha1.NameReviewSpec{View: view}))(t)
		var got []string
		for _, r := range review.Status.Rules {
			text := r.Zone
			if r.View != "" {
				text += "(" + r.View + ")"
			}
			for _, record := range r.Records {
				text += " " + record.Pattern
			}
			got = append(got, strings.TrimSpace(text+" "+strings.Join(r.Zones, " ")))
		}
		if text := strings.Join(got, "; "); text != want || review.Status.Remaining != 0 {
			t.Errorf("view %q: %s, want %s", view, text, want)
		}
		octets, _ := review.Marshal()
		for _, secret := range []string{"team-b", "theirs", "hidden", "z-", "acquisition", "pending"} {
			if strings.Contains(string(octets), secret) {
				t.Errorf("view %q: the answer has %q", view, secret)
			}
		}
	}
	d.zones.Items = nil
	for i := range v1alpha1.MaxNameReviewRules + 3 {
		d.zones.Items = append(d.zones.Items, makeZone("dns", fmt.Sprintf("z%d.", i), "", makeRule("", "*")))
	}
	review, err := d.askName(t, "team-a", "team-a", v1alpha1.NameReviewSpec{})
	if err != nil || len(review.Status.Rules) != v1alpha1.MaxNameReviewRules || review.Status.Remaining != 3 {
		t.Errorf("%d rules and %d more, %v", len(review.Status.Rules), review.Status.Remaining, err)
	}
	for i := range d.zones.Items { // fewer fit the limit of an answer
		d.zones.Items[i].Spec.Delegations[0].Records[0].Pattern = strings.Repeat("a", 2000)
	}
	review, err = d.askName(t, "team-a", "team-a", v1alpha1.NameReviewSpec{})
	if n := len(review.Status.Rules); err != nil || n == 0 || review.Size() > maxRuleOctets+4096 ||
		int(review.Status.Remaining)+n != v1alpha1.MaxNameReviewRules+3 {
		t.Errorf("%d octets, %d rules and %d more, %v", review.Size(), n, review.Status.Remaining, err)
	}
}

// S2.1, S14.3: patterns fully covered by delegated child zones form a separate rule that says so. Zones not delegated
// disclose nothing (S1.8).
func TestCreate_saysWhichRulesGiveNoName_S14_3(t *testing.T) {
	d := &door{}
	below := func(ns, fqdn string, parent string) v1alpha1.Zone {
		z := makeZone(ns, fqdn, "")
		if parent != "" {
			z.Status.ParentRef = &v1alpha1.ZoneParent{Namespace: "dns", Name: parent}
		}
		return z
	}
	rule := makeRule("team-a", "*.apps", "apps", "*.apps", "x.y.apps", "dev")
	for _, pattern := range []string{"apps", "www.apps", "*.secret", "*", "*.dev", "deep.x.apps"} {
		rule.Records = append(rule.Records, v1alpha1.RecordDelegation{Pattern: pattern})
	}
	rule.Records = append(rule.Records, v1alpha1.RecordDelegation{Pattern: "apps", Types: []string{"DS"}})
	d.zones.Items = []v1alpha1.Zone{makeZone("dns", "org.", "", rule, makeRule("", "open.apps"), makeRule("dns", "apps")),
		below("hidden", "apps.org.", "z-org"), below("hidden", "secret.org.", ""), below("dns", "dev.org.", "z-other")}
	for ns, want := range map[string]string{
		"team-a": "*.secret * *.dev apps/DS | apps dev; none *.apps/A apps www.apps deep.x.apps | *.apps x.y.apps; none open.apps/A |",
		"team-b": "none open.apps/A |",
		"dns":    "none apps/A |; none open.apps/A |",
	} {
		review := must.Get(d.askName(t, editor(ns), ns, v1alpha1.NameReviewSpec{}))(t)
		var got []string
		for _, r := range review.Status.Rules {
			var words []string
			if r.Elsewhere {
				words = append(words, "none")
			}
			for _, record := range r.Records {
				words = append(words, strings.Join(append([]string{record.Pattern}, record.Types...), "/"))
			}
			got = append(got, strings.TrimSpace(strings.Join(append(append(words, "|"), r.Zones...), " ")))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s: %s\nwant %s", ns, text, want)
		}
		octets, _ := review.Marshal()
		if strings.Contains(string(octets), "hidden") || strings.Contains(string(octets), "apps.org") {
			t.Errorf("%s: the answer names a zone below: %s", ns, octets)
		}
	}
}

type blockedList struct {
	rest.Lister
	begun, goOn chan struct{}
}

func (l blockedList) List(context.Context, *internalversion.ListOptions) (runtime.Object, error) {
	l.begun <- struct{}{}
	<-l.goOn
	return &v1alpha1.ZoneList{}, nil
}

// Readers that arrive while rules are being read wait for the next reading and share it. They must not get the result
// of the current one, because it began before they came, and may lack their own writes.
func TestReadRules_onceForAllThatAskMeanwhile(t *testing.T) {
	zones := blockedList{begun: make(chan struct{}), goOn: make(chan struct{})}
	r := &ruleReader{zones: zones, delegations: listed{list: &v1alpha1.DelegationList{}}}
	tables := make(chan *ruleTable, 51)
	ask := func() {
		table, err := r.readRules(t.Context())
		if err != nil {
			t.Error(err)
		}
		tables <- table
	}
	go ask()
	<-zones.begun
	for range 50 {
		go ask()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.readRules(ended); err == nil { // and would begin the next reading
		t.Error("it waits for a client that has gone")
	}
	zones.goOn <- struct{}{}
	first := <-tables
	<-zones.begun
	zones.goOn <- struct{}{}
	for range 50 {
		select {
		case table := <-tables:
			if table == first {
				t.Error("a table that was begun before the question")
			}
		case <-zones.begun: // a late reader
			zones.goOn <- struct{}{}
			if table := <-tables; table == first {
				t.Error("a table that was begun before the question")
			}
		}
	}
}

type panickingList struct{ rest.Lister }

func (panickingList) List(context.Context, *internalversion.ListOptions) (runtime.Object, error) {
	panic("an object that cannot be read")
}

// A panic of the reading, which no request's handler would catch, fails the waiting reviews alone. The server goes on,
// and the next review reads again.
func TestReadRules_survivesAPanic(t *testing.T) {
	r := &ruleReader{zones: panickingList{}, delegations: listed{list: &v1alpha1.DelegationList{}}}
	for range 2 {
		if _, err := r.readRules(t.Context()); err == nil || !strings.Contains(err.Error(), "rules") {
			t.Errorf("%v", err)
		}
	}
}

// The cost of a listing with a hundred thousand zones of ten rules each.
func BenchmarkReadRules(b *testing.B) {
	var zones v1alpha1.ZoneList
	for i := range 100_000 {
		var rules []v1alpha1.DelegationRule
		for j := range 10 {
			rules = append(rules, makeRule(fmt.Sprintf("team-%d", (i+j)%1000), "*.apps"))
		}
		zones.Items = append(zones.Items, makeZone("dns", fmt.Sprintf("z%d.", i), "", rules...))
	}
	r := &ruleReader{zones: listed{list: &zones}, delegations: listed{list: &v1alpha1.DelegationList{}}}
	for b.Loop() {
		table, err := r.buildTable(b.Context())
		if err != nil || len(table.listFor("team-7", "").Rules) != v1alpha1.MaxNameReviewRules {
			b.Fatal(err)
		}
	}
}
