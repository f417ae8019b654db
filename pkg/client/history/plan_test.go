// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/test/must"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func makeRecord(namespace, object, owner, address string) *v1alpha1.Record {
	r := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{DomainName: owner + ".example.org.", Type: "A", RData: address}}
	r.Namespace, r.Name, r.UID, r.ResourceVersion = namespace, object, types.UID(namespace+object), "7"
	r.Status.FQDN = r.Spec.DomainName
	r.Status.ZoneRef = &v1alpha1.AdoptingZone{Namespace: "dns", Name: "org"}
	r.CreationTimestamp.Time = noon.Add(24 * time.Hour)
	return r
}

func stateOf(r *v1alpha1.Record) *v1alpha1.HistoryState {
	text, err := json.Marshal(r.Spec)
	if err != nil {
		panic(err)
	}
	return &v1alpha1.HistoryState{Labels: r.Labels, Annotations: r.Annotations, Spec: &runtime.RawExtension{Raw: text}}
}

// makeStep returns the step with a serial, an hour after the last, of a Record unless both are nil.
func makeStep(at int64, effect v1alpha1.Effect, before, after *v1alpha1.Record) v1alpha1.HistoryStep {
	x := v1alpha1.HistoryStep{FQDN: "example.org.", From: at - 1, Serial: at, ContentGeneration: at, Way: v1alpha1.WayRequest,
		By:           "carol",
		FieldManager: "kubectl-edit", Time: &metav1.Time{Time: noon.Add(time.Duration(at) * time.Hour)}}
	r := before
	if r == nil {
		r = after
	}
	if r == nil {
		return x
	}
	owner := strings.TrimSuffix(r.Spec.DomainName, ".example.org.")
	item := v1alpha1.HistoryRecord{Namespace: r.Namespace, Name: r.Name, UID: string(r.UID), Effect: effect, Owner: owner}
	if before != nil {
		item.Before = stateOf(before)
		x.Removed = []v1alpha1.Row{{Owner: owner, Type: "A", Data: before.Spec.RData}}
	}
	if after != nil {
		x.Added = []v1alpha1.Row{{Owner: owner, Type: "A", Data: after.Spec.RData}}
	}
	x.Records = []v1alpha1.HistoryRecord{item}
	return x
}

func describePlan(p *Plan) (all []string) {
	for i := range p.Changes {
		c := &p.Changes[i]
		text := fmt.Sprintf("%s %s/%s %s", c.Op, c.Namespace, c.Name, c.FQDN)
		if c.Again != "" {
			text += " again " + c.Again
		}
		if c.After != "" {
			text += " after " + c.After
		}
		if len(c.Refused) > 0 {
			text += " refused"
		}
		all = append(all, text)
	}
	for _, x := range p.Left {
		all = append(all, fmt.Sprintf("left %s/%s %s of %s: %s", x.Namespace, x.Name, x.Text, x.Writer, x.Reason))
	}
	return append(all, p.Gaps...)
}

func presentOf(records ...*v1alpha1.Record) Present {
	present := Present{Records: map[types.NamespacedName]*v1alpha1.Record{}}
	for _, r := range records {
		present.Records[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}] = r
	}
	return present
}

func TestPlanRevert(t *testing.T) {
	old, now := makeRecord("team", "a", "a", "192.0.2.1"), makeRecord("team", "a", "a", "192.0.2.2")
	added, removed, changed := makeStep(2, v1alpha1.EffectAdded, nil, now), makeStep(2, v1alpha1.EffectRemoved, old, nil),
		makeStep(2, v1alpha1.EffectChanged, old, now)
	with := func(x v1alpha1.HistoryStep, change func(*v1alpha1.HistoryStep)) v1alpha1.HistoryStep {
		x = *x.DeepCopy()
		change(&x)
		return x
	}
	way := func(x v1alpha1.HistoryStep, way v1alpha1.Way, by, manager string) v1alpha1.HistoryStep {
		return with(x, func(x *v1alpha1.HistoryStep) { x.Way, x.By, x.FieldManager = way, by, manager })
	}
	managed := now.DeepCopy()
	managed.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "argocd", Operation: "Apply",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
	deleting, elsewhere, before := now.DeepCopy(), now.DeepCopy(), now.DeepCopy()
	deleting.DeletionTimestamp = &metav1.Time{}
	elsewhere.Status.ZoneRef.Name = "net"
	before.CreationTimestamp.Time = noon.Add(-time.Hour)
	theirs := makeRecord("other", "b", "a", "192.0.2.3")
	for what, x := range map[string]struct {
		steps   []v1alpha1.HistoryStep
		now     []*v1alpha1.Record
		options Options
		want    string
	}{
		"a deleted Record comes back": {[]v1alpha1.HistoryStep{removed}, nil, Options{}, "+ team/a a.example.org."},
		"a changed Record":            {[]v1alpha1.HistoryStep{changed}, []*v1alpha1.Record{now}, Options{}, "~ team/a a.example.org."},
		"a new Record goes":           {[]v1alpha1.HistoryStep{added}, []*v1alpha1.Record{now}, Options{}, "- team/a a.example.org."},
		"a new Record that went":      {[]v1alpha1.HistoryStep{added}, nil, Options{}, ""},
		"a Record that is as it was":  {[]v1alpha1.HistoryStep{changed}, []*v1alpha1.Record{old}, Options{}, ""},
		"of a name":                   {[]v1alpha1.HistoryStep{removed}, nil, Options{Name: name.MustParse("b.example.org.")}, ""},
		"of the oldest step's state": {[]v1alpha1.HistoryStep{makeStep(3, v1alpha1.EffectRemoved, now, nil), changed},
			[]*v1alpha1.Record{old}, Options{}, ""},
		"recreated under its name": {[]v1alpha1.HistoryStep{makeStep(3, v1alpha1.EffectAdded, nil, now), removed},
			[]*v1alpha1.Record{now}, Options{}, "~ team/a a.example.org."},
		"without room for its spec": {[]v1alpha1.HistoryStep{with(removed,
			func(x *v1alpha1.HistoryStep) { x.Records[0].Before.Spec = nil })}, nil, Options{},
			"left team/a a.example.org. of carol (kubectl-edit): the history has no former spec"},
		"in deletion": {[]v1alpha1.HistoryStep{changed}, []*v1alpha1.Record{deleting}, Options{},
			"left team/a a.example.org. A of carol (kubectl-edit): it is being deleted"},
		"in another zone by now": {[]v1alpha1.HistoryStep{changed}, []*v1alpha1.Record{elsewhere}, Options{},
			"left team/a a.example.org. A of carol (kubectl-edit): it is in zone dns/net now"},
		"that existed outside": {[]v1alpha1.HistoryStep{added}, []*v1alpha1.Record{before}, Options{},
			"left team/a a.example.org. A of carol (kubectl-edit): it existed already"},
		"of an UpdateKey": {[]v1alpha1.HistoryStep{way(removed, v1alpha1.WayUpdateKey, "kubi.zone:updatekey:team:dhcp",
			"dynamic-update")}, nil, Options{}, "left team/a a.example.org. A of UpdateKey team/dhcp: its writer renews it"},
		"of an UpdateKey, included": {[]v1alpha1.HistoryStep{way(removed, v1alpha1.WayUpdateKey, "kubi.zone:updatekey:team:dhcp",
			"")}, nil, Options{IncludeManaged: true}, "+ team/a a.example.org. again UpdateKey team/dhcp"},
		"of external-dns, earlier": {[]v1alpha1.HistoryStep{removed, way(makeStep(1, v1alpha1.EffectAdded, nil, old),
			v1alpha1.WayExternalDNS, "sa", "x")}, nil, Options{}, "left team/a a.example.org. A of external-dns: its writer"},
		"of another field manager": {[]v1alpha1.HistoryStep{changed}, []*v1alpha1.Record{managed}, Options{},
			"left team/a a.example.org. A of field manager argocd: its writer"},
		"of a challenge, included": {[]v1alpha1.HistoryStep{way(removed, v1alpha1.WayChallenge, "acme", "")}, nil,
			Options{IncludeManaged: true}, "left team/a a.example.org. A of acme: it is an ACME challenge"},
		"of a rule": {[]v1alpha1.HistoryStep{with(way(removed, v1alpha1.WayCascade, "", ""),
			func(x *v1alpha1.HistoryStep) { x.Cause = "Zone dns/org" })}, []*v1alpha1.Record{old}, Options{},
			"left / + a.example.org. A 192.0.2.1 of Zone dns/org: a child Zone, a rule"},
		"of another namespace, masked": {[]v1alpha1.HistoryStep{with(removed, func(x *v1alpha1.HistoryStep) {
			x.Records, x.By,
				x.AnotherNamespace = nil, "", true
		})}, nil, Options{},
			"left / + a.example.org. A 192.0.2.1 of another namespace: Records of another namespace"},
		"of the Zone's spec": {[]v1alpha1.HistoryStep{with(makeStep(2, "", nil, nil), func(x *v1alpha1.HistoryStep) {
			x.HeaderBefore, x.HeaderAfter = &v1alpha1.ZoneHeader{TTL: 60}, &v1alpha1.ZoneHeader{TTL: 61}
		})}, nil, Options{},
			"left dns/org the spec of the Zone (SOA, ttl or name servers) of carol (kubectl-edit): a revert writes Records alone"},
		"that passes to another namespace": {[]v1alpha1.HistoryStep{makeStep(3, v1alpha1.EffectAdded, nil, theirs), removed},
			[]*v1alpha1.Record{theirs}, Options{},
			"- other/b a.example.org., + team/a a.example.org. after other, a.example.org. passes from namespace other to team: " +
				"it has no values between their change sets"},
	} {
		t.Run(what, func(t *testing.T) {
			present := presentOf(x.now...)
			past := &Past{FQDN: "example.org.", Steps: append(x.steps, makeStep(1, "", nil, nil)), Newest: 9}
			zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "org"}}
			plan := must.Get(PlanRevert(past, Subject{Zone: zone}, Moment{Serial: 1}, present, x.options))(t)
			got := describePlan(plan)
			if text := strings.Join(got, ", "); !strings.HasPrefix(text, x.want) || x.want == "" && text != "" || len(got) > 1 &&
				len(plan.Gaps) == 0 {
				t.Errorf("%s\nwant %s", text, x.want)
			}
		})
	}
	plan := must.Get(PlanRevert(&Past{FQDN: "example.org.", Steps: []v1alpha1.HistoryStep{removed}, Newest: 2},
		Subject{Zone: &v1alpha1.Zone{}},
		Moment{Serial: 1}, Present{Unreadable: map[string]string{"team": "no right"}}, Options{}))(t)
	if got := describePlan(plan); plan.Refused != 1 || len(got) != 1 || !strings.HasSuffix(got[0], "refused") {
		t.Errorf("without the right to read: %v", got)
	}
	other := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns"}}
	plan = must.Get(PlanRevert(&Past{FQDN: "example.org.", Steps: []v1alpha1.HistoryStep{removed}, Newest: 2}, Subject{Zone: other},
		Moment{Serial: 1}, Present{Unreadable: map[string]string{"team": "no right"}}, Options{}))(t)
	if got := describePlan(plan); plan.Refused != 0 || len(got) != 1 || !strings.HasSuffix(got[0], "you may not read it: no right") {
		t.Errorf("without the right to read another namespace: %v", got)
	}
}

// A Record of the same name outside the zone is not the one of the steps.
func TestPlanRevert_leavesOtherRecords(t *testing.T) {
	mine, other := makeRecord("team", "web", "web", "192.0.2.1"), makeRecord("team", "web", "web", "192.0.2.9")
	other.UID, other.Spec.DomainName, other.Status.FQDN = "new", "web.other.net.", "web.other.net."
	other.Status.ZoneRef.Name = "net"
	alter := func(r *v1alpha1.Record, change func(*v1alpha1.Record)) *v1alpha1.Record {
		r = r.DeepCopy()
		change(r)
		return r
	}
	const isAnother = " A of carol (kubectl-edit): it is another"
	inNone := func(r *v1alpha1.Record) *v1alpha1.Record {
		return alter(r, func(r *v1alpha1.Record) { r.Status.ZoneRef = nil })
	}
	born := []v1alpha1.HistoryStep{makeStep(3, v1alpha1.EffectRemoved, mine, nil), makeStep(2, v1alpha1.EffectAdded, nil, mine)}
	gone := born[:1]
	known := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "org"}}
	for what, x := range map[string]struct {
		steps []v1alpha1.HistoryStep
		now   *v1alpha1.Record
		zone  *v1alpha1.Zone
		want  string
	}{
		"another in another zone":              {born, other, known, "left team/web web.other.net." + isAnother},
		"another in another zone, of a tenant": {born, other, nil, "left team/web web.other.net." + isAnother},
		"another in no zone":                   {born, inNone(other), known, "left team/web web.other.net." + isAnother},
		"another in the way":                   {gone, other, known, "left team/web web.other.net." + isAnother},
		"another in the zone": {born, alter(mine, func(r *v1alpha1.Record) { r.UID = "new" }), known,
			"- team/web web.example.org."},
		"another there, perhaps": {born, alter(mine, func(r *v1alpha1.Record) { r.UID = "new" }), nil,
			"left team/web web.example.org." + isAnother},
		"the same of a tenant": {born[1:], mine, nil, "- team/web web.example.org."},
		"the same in no zone": {born[1:], inNone(mine), known,
			"left team/web web.example.org. A of carol (kubectl-edit): it is in no"},
		"the same in none, of a tenant": {born[1:], inNone(mine), nil,
			"left team/web web.example.org. A of carol (kubectl-edit): it is in no"},
		"the same in another view": {born[1:], alter(mine, func(r *v1alpha1.Record) { r.Status.View = "internal" }), nil,
			"left team/web web.example.org. A of carol (kubectl-edit): it is in zone dns/org now"},
		"the same at another name": {born[1:], alter(other, func(r *v1alpha1.Record) { r.UID = mine.UID }), nil,
			"left team/web web.other.net. A of carol (kubectl-edit): it is in zone dns/net now"},
		"the same, moved to no zone": {gone, alter(inNone(mine), func(r *v1alpha1.Record) { r.Spec.RData = "192.0.2.7" }), known,
			"~ team/web web.example.org."},
	} {
		to := x.steps[len(x.steps)-1].From
		past := &Past{FQDN: "example.org.", Steps: append(slices.Clone(x.steps), makeStep(to, "", nil, nil)), Newest: 9}
		s := Subject{Zone: x.zone, Name: name.MustParse("example.org."), Namespace: "team"}
		plan := must.Get(PlanRevert(past, s, Moment{Serial: serialOf(to)}, presentOf(x.now), Options{}))(t)
		if got := describePlan(plan); len(got) != 1 || !strings.HasPrefix(got[0], x.want) {
			t.Errorf("%s: %q\nwant %q", what, got, x.want)
		}
	}
}

// A cascade released a Record, which was then deleted while no zone had it, and created again. At the time to which the
// zone is reverted, a former Record of this name existed, so the plan changes the present Record back. If the history
// lacks the former spec, the plan says that this is impossible.
func TestPlanRevert_existedBeforeACascade(t *testing.T) {
	old, now := makeRecord("team", "a", "a", "192.0.2.1"), makeRecord("team", "a", "a", "192.0.2.2")
	old.UID = "old"
	released := makeStep(2, v1alpha1.EffectRemoved, old, nil)
	released.Way = v1alpha1.WayCascade
	past := &Past{FQDN: "example.org.", Newest: 9,
		Steps: []v1alpha1.HistoryStep{makeStep(3, v1alpha1.EffectAdded, nil, now), released, makeStep(1, "", nil, nil)}}
	plan := func() *Plan {
		return must.Get(PlanRevert(past, Subject{Zone: &v1alpha1.Zone{}}, Moment{Serial: 1},
			presentOf(now), Options{}))(t)
	}
	if got := plan(); len(got.Changes) != 1 || got.Changes[0].Op != "~" || got.Changes[0].change.After.Spec.RData != "192.0.2.1" {
		t.Errorf("with its spec: %q", describePlan(got))
	}
	past.Steps[1].Records[0].Before = nil
	if got := plan(); len(got.Changes) != 0 || len(got.Left) == 0 || got.Left[0].Name != "a" {
		t.Errorf("without its spec: %q", describePlan(got))
	}
}

// A Record that has expired since is left, and the revert has not failed for it: carol's edit before the expiry, and
// the cascade of the expiry alone, whose Record waits or is deleted (S15.4).
func TestPlanRevert_leavesTheExpired_S15_4(t *testing.T) {
	old, now := makeRecord("team", "a", "a", "192.0.2.1"), makeRecord("team", "a", "a", "192.0.2.2")
	old.Spec.ExpiresAt = &metav1.Time{Time: time.Now().Add(-time.Hour).Truncate(time.Second)}
	now.Spec.ExpiresAt, now.Status.ZoneRef = old.Spec.ExpiresAt, nil
	expiry := makeStep(3, v1alpha1.EffectRemoved, now, nil)
	expiry.Way, expiry.By, expiry.Cause = v1alpha1.WayCascade, "", "expiresAt of the record has passed"
	edit := makeStep(2, v1alpha1.EffectChanged, old, now)
	for what, test := range map[string]struct {
		steps   []v1alpha1.HistoryStep
		present []*v1alpha1.Record
		want    string
	}{
		"edited, and expired":              {[]v1alpha1.HistoryStep{expiry, edit}, []*v1alpha1.Record{now}, "it has expired at "},
		"edited, expired and deleted":      {[]v1alpha1.HistoryStep{expiry, edit}, nil, "it has expired at "},
		"expired since":                    {[]v1alpha1.HistoryStep{expiry}, []*v1alpha1.Record{now}, ""},
		"expired since, made by an update": {[]v1alpha1.HistoryStep{expiry}, nil, ""},
	} {
		past := &Past{FQDN: "example.org.", Own: "dns", Steps: append(slices.Clone(test.steps), makeStep(1, "", nil, nil))}
		plan := must.Get(PlanRevert(past, Subject{}, Moment{Serial: 1}, presentOf(test.present...), Options{}))(t)
		got := strings.Join(describePlan(plan), "; ")
		if len(plan.Changes) > 0 || plan.CountMissing() > 0 || !strings.Contains(got, test.want) {
			t.Errorf("%s: %d changes, %d missing: %s", what, len(plan.Changes), plan.CountMissing(), got)
		}
	}
}

// The history may have had no room for the former labels and annotations of a Record. A revert then keeps the present
// ones. If the Record is created again, the plan tells which are missing.
func TestPlanRevert_withoutRoomForMetadata(t *testing.T) {
	old, now := makeRecord("team", "a", "a", "192.0.2.1"), makeRecord("team", "a", "a", "192.0.2.2")
	old.Labels, now.Labels = map[string]string{"app": "old"}, map[string]string{"app": "new"}
	now.Annotations = map[string]string{"note": "keep"}
	plan := func(x v1alpha1.HistoryStep, present Present, leftOut ...string) *Plan {
		x.Records[0].Before.LeftOut = leftOut
		past := &Past{FQDN: "example.org.", Steps: []v1alpha1.HistoryStep{x, makeStep(1, "", nil, nil)}, Newest: 9}
		return must.Get(PlanRevert(past, Subject{Zone: &v1alpha1.Zone{}}, Moment{Serial: 1}, present, Options{}))(t)
	}
	present := presentOf(now)
	changed := makeStep(2, v1alpha1.EffectChanged, old, now)
	p := plan(changed, present, "annotations")
	if got := p.Changes[0].change.After; got.Labels["app"] != "old" || got.Annotations["note"] != "keep" || len(p.Left) > 0 {
		t.Errorf("annotations left out: %v %v, left %v", got.Labels, got.Annotations, p.Left)
	}
	changed.Records[0].Before.Labels = nil
	p = plan(changed, present, "annotations", "labels")
	if got := p.Changes[0].change; got.After.Labels["app"] != "new" || got.After.Annotations["note"] != "keep" ||
		strings.Contains(string(got.AppliedJSON), "null") {
		t.Errorf("both left out: %v, applied %s", got.After, got.AppliedJSON)
	}
	p = plan(makeStep(2, v1alpha1.EffectRemoved, old, nil), Present{}, "annotations", "labels")
	want := []string{"+ team/a a.example.org.", "left team/a a.example.org. A of carol (kubectl-edit): the history has no room for its " +
		"former annotations and labels; write them by hand"}
	if got := describePlan(p); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// A namespace was deleted and made again: changes of its predecessor's Records are left, and later ones are reverted.
// -n limits the revert to a namespace.
func TestPlanRevert_ofANamespaceMadeAgain(t *testing.T) {
	old, now := makeRecord("team", "a", "a", "192.0.2.1"), makeRecord("team", "b", "b", "192.0.2.2")
	steps := []v1alpha1.HistoryStep{makeStep(4, v1alpha1.EffectAdded, nil, now), makeStep(3, v1alpha1.EffectRemoved, old, nil),
		makeStep(2, v1alpha1.EffectRemoved, makeRecord("dns", "c", "c", "192.0.2.3"), nil), makeStep(1, "", nil, nil)}
	present := presentOf(now)
	present.Began = map[string]time.Time{"team": steps[1].Time.Add(time.Minute)}
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "org"}}
	for namespace, want := range map[string][]string{
		"": {"+ dns/c c.example.org.", "- team/b b.example.org.",
			"left team/a a.example.org. of carol (kubectl-edit): its namespace was deleted and made again since; write it by hand"},
		"dns": {"+ dns/c c.example.org."},
	} {
		past := &Past{FQDN: "example.org.", Steps: steps, Newest: 9}
		plan := must.Get(PlanRevert(past, Subject{Zone: zone}, Moment{Serial: 1}, present, Options{Namespace: namespace}))(t)
		if got := describePlan(plan); !slices.Equal(got, want) {
			t.Errorf("-n %q: %q", namespace, got)
		}
	}
}

// Two Records have exchanged their names, and the revert has to exchange them back. While either exists, its name is
// taken, so the plan first deletes both and then creates them under their former names.
func TestSets_freeNamesFirst(t *testing.T) {
	one, two := makeRecord("one", "x", "a", "192.0.2.1"), makeRecord("two", "x", "b", "192.0.2.2")
	oneBack, twoBack := makeRecord("one", "x", "b", "192.0.2.1"), makeRecord("two", "x", "a", "192.0.2.2")
	past := &Past{FQDN: "example.org.", Newest: 9, Steps: []v1alpha1.HistoryStep{makeStep(3, v1alpha1.EffectChanged, twoBack, two),
		makeStep(2, v1alpha1.EffectChanged, oneBack, one), makeStep(1, "", nil, nil)}}
	plan := must.Get(PlanRevert(past, Subject{Zone: &v1alpha1.Zone{}}, Moment{Serial: 1}, presentOf(one, two), Options{}))(t)
	var got []string
	for _, phase := range plan.orderSets(true) {
		for _, w := range slices.Concat(phase...) {
			got = append(got, fmt.Sprint(w.change.Before != nil, " ", w.change.After != nil, " ", w.Namespace))
		}
	}
	if want := []string{"true false one", "true false two", "false true one", "false true two"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q\n%v", got, want, describePlan(plan))
	}
	if got := len(plan.orderSets(false)); got != 2 {
		t.Errorf("%d sets to judge", got)
	}
}

func TestSince_namesTheOldestMoment(t *testing.T) {
	steps := func() []v1alpha1.HistoryStep {
		return []v1alpha1.HistoryStep{makeStep(9, "", nil, nil), makeStep(8, "", nil, nil), makeStep(7, "", nil, nil)}
	}
	condensed := steps()
	condensed[1].Condensed = true
	born := steps()
	born[2].From = 0
	lacking := []v1alpha1.HistoryStep{makeStep(9, "", nil, nil), makeStep(7, "", nil, nil), makeStep(6, "", nil, nil)}
	whole := noon.Add(6 * time.Hour)
	for what, x := range map[string]struct {
		past Past
		at   Moment
		want int
		err  string
	}{
		"a serial":              {Past{Steps: steps(), Newest: 9}, Moment{Serial: 8}, 1, ""},
		"the newest":            {Past{Steps: steps(), Newest: 9}, Moment{Serial: 9}, 0, ""},
		"the oldest":            {Past{Steps: steps(), Newest: 9, Ended: true}, Moment{Serial: 6}, 3, ""},
		"a time":                {Past{Steps: steps(), Newest: 9}, Moment{Time: noon.Add(7*time.Hour + time.Minute)}, 2, ""},
		"a time before all":     {Past{Steps: steps(), Newest: 9, OwnSince: whole, Ended: true}, Moment{Time: whole}, 3, ""},
		"a time with own steps": {Past{Steps: steps(), Newest: 9, WholeSince: whole, Ended: true}, Moment{Time: noon}, 3, ""},
		"a time beyond": {Past{Steps: steps(), Newest: 9, OwnSince: whole, Ended: true}, Moment{Time: noon}, 0,
			"serial 6 is the oldest"},
		"a serial beyond":         {Past{Steps: steps(), Newest: 9, Ended: true}, Moment{Serial: 5}, 0, "serial 6 is the oldest"},
		"a serial to come":        {Past{Steps: steps(), Newest: 9}, Moment{Serial: 10}, 0, "has not reached serial 10"},
		"a condensed step":        {Past{Steps: condensed, Newest: 9}, Moment{Serial: 7}, 2, ""},
		"missing steps of others": {Past{Steps: lacking, Newest: 9, OwnSince: timeOf(&lacking[1])}, Moment{Serial: 6}, 2, ""},
		"missing steps, perhaps own": {Past{Steps: lacking, Newest: 9, OwnSince: timeOf(&lacking[1]).Add(1)}, Moment{Serial: 6}, 0,
			"serial 8 is the oldest"},
		"newer than the missing steps": {Past{Steps: lacking, Newest: 9, OwnSince: timeOf(&lacking[0])}, Moment{Serial: 9}, 0, ""},
		"before the zone":              {Past{Steps: born, Newest: 9, Ended: true}, Moment{Serial: 6}, 0, "did not exist"},
		"without history":              {Past{Newest: 9, WholeSince: whole}, Moment{Serial: 6}, 0, "has no step"},
		"a tenant's serial":            {Past{Steps: steps()}, Moment{Serial: 5}, 0, "write a time"},
		"a tenant's own serial":        {Past{Steps: steps()}, Moment{Serial: 7}, 2, ""},
	} {
		got, err := x.past.Since(x.at)
		if len(got) != x.want || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s: %d steps, %v", what, len(got), err)
		}
	}
}

func TestParseMoment(t *testing.T) {
	for text, want := range map[string]Moment{"2026112014": {Serial: serial.Serial(2026112014)}, "24h": {Time: noon.Add(-24 * time.Hour)},
		"2d": {Time: noon.Add(-48 * time.Hour)}, "2026-11-20T11:00": {Time: noon.Add(-time.Hour)},
		"2026-11-20":                {Time: noon.Add(-12 * time.Hour)},
		"2026-11-20T13:00:00+01:00": {Time: noon}} {
		if got, err := ParseMoment(text, noon); err != nil || got.Serial != want.Serial || !got.Time.Equal(want.Time) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1h", "noon", "4294967296", "99999d"} {
		if got, err := ParseMoment(text, noon); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
