// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/changeset"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
)

func newKey(patterns ...string) *v1alpha1.UpdateKey {
	key := &v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "acme", Generation: 1},
		Spec: v1alpha1.UpdateKeySpec{TSIGSecretRef: v1alpha1.UpdateKeySecret{Name: "acme-tsig"}}}
	for _, p := range patterns {
		key.Spec.Records = append(key.Spec.Records, v1alpha1.UpdateKeyRecords{Pattern: p})
	}
	return key
}

// verbs allows its verbs on Records of namespace team.
type verbs string

func (v verbs) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetResource() == "records" && a.GetNamespace() == "team" && strings.Contains(string(v), a.GetVerb()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// A new spec of an UpdateKey needs the author's right to create, patch and delete Records, because the key can do all
// three. A changed label needs no right (S13.2).
func TestKind_asksForTheRightsOfTheAuthor_S13_2(t *testing.T) {
	ctx := genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "author"})
	for has, lacks := range map[verbs]string{"create patch delete": "", "create patch": "delete", "create delete": "patch", "": "create"} {
		err := NewKind(has, noRules, nil).Check(ctx, newKey("*.apps.example.org."), &v1alpha1.UpdateKey{})
		warned := apierrors.IsForbidden(err) && strings.Contains(err.Error(), "right to "+lacks+" records")
		if (err == nil) != (lacks == "") || err != nil && !warned {
			t.Errorf("with %q: %v", has, err)
		}
	}
	labelled := newKey("*.apps.example.org.")
	labelled.Labels = map[string]string{"a": "b"}
	if err := NewKind(verbs(""), noRules, nil).Check(ctx, labelled, newKey("*.apps.example.org.")); err != nil {
		t.Errorf("a label: %v", err)
	}
}

// S13.1, S13.3: valid specs, and immutable fields.
func TestKind_validates_S13_1(t *testing.T) {
	of := NewKind(verbs(""), noRules, nil)
	for what, test := range map[string]struct {
		key  *v1alpha1.UpdateKey
		want string
	}{
		"as it should be":  {newKey("*.apps.example.org.", "_acme-challenge.*.example.org."), ""},
		"nothing":          {newKey(), "spec.records: Required"},
		"a relative name":  {newKey("*.apps"), "spec.records[0].pattern: Invalid value: \"*.apps\": is relative"},
		"no pattern":       {newKey("a..b."), "spec.records[0].pattern: Invalid"},
		"many":             {newKey(strings.Split(strings.Repeat("a.example.org. ", 17), " ")[:17]...), "spec.records: Too many"},
		"no name of a key": {&v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "x"}}, "spec.tsigSecretRef.name"},
	} {
		errs := of.Validate(test.key).ToAggregate()
		if (errs == nil) != (test.want == "") || errs != nil && !strings.Contains(errs.Error(), test.want) {
			t.Errorf("%s: %v, want %q", what, errs, test.want)
		}
	}
	before, after := newKey("a.example.org."), newKey("a.example.org.")
	before.ResourceVersion, after.ResourceVersion, after.Spec.View = "1", "1", "inside"
	if errs := of.ValidateUpdate(after, before).ToAggregate(); errs == nil || !strings.Contains(errs.Error(), "spec.view") {
		t.Errorf("another view: %v", errs)
	}
	status := of.Subresources["status"].Validate
	before.Status.KeyName, after.Status.KeyName = "one.", "two."
	if errs := status(after, before).ToAggregate(); errs == nil || !strings.Contains(errs.Error(), "status.keyName") {
		t.Errorf("another name of the key: %v", errs)
	}
}

// The owner of an UpdateKey gets an Event when another key has its name: when it loses the name, or is refused at
// first, and not again while this lasts (S13.3).
func TestKind_warnsOfALostName_S13_3(t *testing.T) {
	var reported []string
	of := NewKind(verbs(""), noRules, func(key *v1alpha1.UpdateKey, why string) {
		reported = append(reported, key.Namespace+"/"+key.Name+": "+why)
	})
	with := func(reason string) *v1alpha1.UpdateKey {
		key := newKey("a.example.org.")
		if reason != "" {
			key.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: reason, Message: "because of " + reason}}
		}
		return key
	}
	for _, write := range []struct{ before, after string }{{"", "Served"}, {"Served", "Served"}, {"Served", "KeyNameTaken"},
		{"KeyNameTaken", "KeyNameTaken"}, {"KeyNameTaken", "Served"}, {"", "KeyNameTaken"}, {"Served", ""}} {
		of.Subresources["status"].AfterWrite(with(write.after), with(write.before))
	}
	if want := "team/acme: because of KeyNameTaken"; len(reported) != 2 || reported[0] != want || reported[1] != want {
		t.Errorf("told %q", reported)
	}
}

// planned fakes a zone of namespace dns with Records, and accepts change sets.
type planned struct {
	records  []*v1alpha1.Record
	made     []content.RRset
	apexNS   []string
	sets     []*v1alpha1.ChangeSet
	acts     []string
	fail     []error
	judged   error              // of prerequisites without a change set
	appears  []*v1alpha1.Record // with the first change set
	reported []string
}

func (p *planned) FindZone(_ context.Context, _, view string, apex name.Name) (v1alpha1.AdoptingZone, bool, error) {
	at, found, ok := p.FindEnclosing(view, apex)
	return at, ok && found == apex, nil
}

func (p *planned) FindEnclosing(_ string, fqdn name.Name) (v1alpha1.AdoptingZone, name.Name, bool) {
	for _, apex := range []string{"sub.example.org.", "example.org."} {
		if zone := name.MustParse(apex); zone.Encloses(fqdn) {
			return v1alpha1.AdoptingZone{Namespace: "dns", Name: apex, UID: "u"}, zone, true
		}
	}
	return v1alpha1.AdoptingZone{}, name.Name{}, false
}

func (p *planned) RecordsOf(_ context.Context, _ v1alpha1.AdoptingZone, _ name.Name, namespace string, names []name.Name) (
	map[name.Name][]*v1alpha1.Record, error) {
	found := map[name.Name][]*v1alpha1.Record{}
	for _, r := range p.records {
		if fqdn := name.MustParse(r.Status.FQDN); r.Namespace == namespace && slices.Contains(names, fqdn) {
			found[fqdn] = append(found[fqdn], r)
		}
	}
	return found, nil
}

func (p *planned) MayMake(v1alpha1.AdoptingZone, string, name.Name, []name.Name) bool { return true }

func (p *planned) ApexOf(context.Context, v1alpha1.AdoptingZone, string) ([]content.RRset, []string, error) {
	return p.made, p.apexNS, nil
}

func (p *planned) Judge(context.Context, v1alpha1.AdoptingZone, string, []v1alpha1.ChangeSetPrerequisite) error {
	return p.judged
}

func (p *planned) New() runtime.Object { return &v1alpha1.ChangeSet{} }
func (p *planned) Destroy()            {}

func (p *planned) Create(ctx context.Context, obj runtime.Object, _ rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object,
	error) {
	set := obj.(*v1alpha1.ChangeSet).DeepCopy()
	namespace, _ := changeset.ActsFor(ctx)
	by, _ := genericapirequest.UserFrom(ctx)
	p.sets, p.acts = append(p.sets, set), append(p.acts, namespace+" "+by.GetName())
	p.records = append(p.records, p.appears...)
	if len(p.fail) > 0 {
		err := p.fail[0]
		if p.fail = p.fail[1:]; err != nil {
			return nil, err
		}
	}
	set.Status.Serial = 7
	return set, nil
}

type oneKey struct{ *v1alpha1.UpdateKey }

func (k oneKey) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return k.UpdateKey, nil
}

func (p *planned) sendUpdate(t *testing.T, key *v1alpha1.UpdateKey, updates ...v1alpha1.UpdateRequestRecord) (
	v1alpha1.UpdateRequestStatus, error) {
	t.Helper()
	return p.sendRequest(t, key, v1alpha1.UpdateRequestSpec{Updates: updates})
}

func (p *planned) sendRequest(t *testing.T, key *v1alpha1.UpdateKey, spec v1alpha1.UpdateRequestSpec) (v1alpha1.UpdateRequestStatus,
	error) {
	t.Helper()
	spec.Zone, spec.From = "example.org.", "192.0.2.7"
	request := &v1alpha1.UpdateRequest{Spec: spec}
	report := func(_ *v1alpha1.UpdateKey, rcode, _ string) { p.reported = append(p.reported, rcode) }
	got, err := NewUpdateREST(oneKey{key}, NewWriter(p, p), report).Create(t.Context(), "acme", request, nil, &metav1.CreateOptions{})
	if err != nil {
		return v1alpha1.UpdateRequestStatus{}, err
	}
	return got.(*v1alpha1.UpdateRequest).Status, nil
}

func addAddress(name, data string) v1alpha1.UpdateRequestRecord {
	return v1alpha1.UpdateRequestRecord{Name: name, Type: "A", Class: "IN", TTL: 60, Data: data}
}

// A policy of validating admission can refuse an update, and a read of the dynamic share. The refusal comes before any
// Record is written or read.
func TestUpdate_isAdmitted(t *testing.T) {
	p := &planned{}
	refuse := func(_ context.Context, object runtime.Object) error {
		return apierrors.NewForbidden(v1alpha1.Resource("updatekeys"), object.(*v1alpha1.UpdateRequest).Spec.Zone, nil)
	}
	spec := v1alpha1.UpdateRequestSpec{Zone: "example.org.", From: "192.0.2.7", Updates: []v1alpha1.UpdateRequestRecord{
		addAddress("a.apps.example.org.", "192.0.2.1")}}
	key := oneKey{newKey("*.apps.example.org.")}
	for what, create := range map[string]rest.NamedCreater{"update": NewUpdateREST(key, NewWriter(p, p), nil),
		"share": NewShareREST(key, nil, p)} {
		if _, err := create.Create(t.Context(), "acme", &v1alpha1.UpdateRequest{Spec: spec}, refuse, &metav1.CreateOptions{}); err == nil ||
			!apierrors.IsForbidden(err) || len(p.sets) > 0 {
			t.Errorf("%s: %v, %d sets", what, err, len(p.sets))
		}
	}
}

// A DNS UPDATE message becomes a single change set in the name of the key's user. If Records change meanwhile, the set
// is planned and sent again. Refusals become REFUSED; errors after which a retry may help are returned as such (S13.4,
// S13.5).
func TestUpdate_isOneChangeSet_S13_4(t *testing.T) {
	p := &planned{fail: []error{apierrors.NewConflict(v1alpha1.Resource("records"), "x", nil)}}
	status := must.Get(p.sendUpdate(t, newKey("*.apps.example.org."), addAddress("a.apps.example.org.", "192.0.2.1"),
		addAddress("b.apps.example.org.", "192.0.2.1")))(t)
	if status.RCode != "NOERROR" || status.Serial != 7 || len(p.sets) != 2 {
		t.Fatalf("%+v, %d sets", status, len(p.sets))
	}
	if items := p.sets[1].Spec.Items; len(items) != 2 || items[0].Create == nil {
		t.Errorf("%+v, %+v", status, p.sets)
	}
	if want := "team kubi.zone:updatekey:team:acme"; p.acts[0] != want {
		t.Errorf("acts for %q, want %q", p.acts[0], want)
	}
	for what, test := range map[string]struct {
		fail error
		want string
	}{
		"forbidden":   {apierrors.NewForbidden(v1alpha1.Resource("records"), "x", nil), "REFUSED"},
		"invalid":     {apierrors.NewInvalid(v1alpha1.Kind("Record"), "x", nil), "REFUSED"},
		"too large":   {apierrors.NewRequestEntityTooLargeError("more than etcd takes"), "REFUSED"},
		"later":       {apierrors.NewTooManyRequests("later", 1), ""},
		"not known":   {apierrors.NewTimeoutError("not known", 0), ""},
		"other fault": {apierrors.NewInternalError(context.Canceled), ""},
	} {
		p := &planned{fail: []error{test.fail}}
		status, err := p.sendUpdate(t, newKey("*.apps.example.org."), addAddress("a.apps.example.org.", "192.0.2.1"))
		if status.RCode != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %+v, %v", what, status, err)
		}
	}
}

// A Record made by hand has the object name that an update needs. If it goes meanwhile, a retry succeeds; if it stays,
// the answer is REFUSED with a remedy, because SERVFAIL would have the client try for ever (S13.7).
func TestUpdate_saysWhatIsInTheWay_S13_7(t *testing.T) {
	exists := apierrors.NewAlreadyExists(v1alpha1.Resource("records"), "dyn--a.apps-a.example.org")
	late := &planned{fail: []error{exists, exists}}
	if got, err := late.sendUpdate(t, newKey("*.apps.example.org."), addAddress("a.apps.example.org.", "192.0.2.1")); err != nil ||
		got.RCode != "NOERROR" {
		t.Errorf("that goes meanwhile: %+v, %v", got, err)
	}
	stays := &planned{fail: slices.Repeat([]error{exists}, maxTries)}
	got, err := stays.sendUpdate(t, newKey("*.apps.example.org."), addAddress("a.apps.example.org.", "192.0.2.1"))
	if err != nil || got.RCode != "REFUSED" || !strings.Contains(got.Message, "delete it with kubectl") {
		t.Errorf("that stays: %+v, %v", got, err)
	}
	conflicts := &planned{fail: slices.Repeat([]error{apierrors.NewConflict(v1alpha1.Resource("records"), "x", nil)}, maxTries)}
	if got, err := conflicts.sendUpdate(t, newKey("*.apps.example.org."), addAddress("a.apps.example.org.", "192.0.2.1")); err == nil {
		t.Errorf("conflicts: %+v", got)
	}
}

// S13.5: NOERROR for a deletion means that the namespace has lost the value: from an update, a Record, one of several
// Records of a type, or its own zone's spec. Other namespaces' values are invisible.
func TestUpdate_deletesOrRefuses_S13_5(t *testing.T) {
	p := &planned{made: []content.RRset{
		{Owner: name.Apex, Type: rdata.NS, Data: []string{"ns1", "ns2.example.net."}},
		{Owner: name.MustRel("ns1"), Type: rdata.A, Data: []string{"192.0.2.53"}},
		{Owner: name.MustRel("ns1"), Type: rdata.AAAA, Data: []string{"2001:db8::53"}},
	}}
	for i, value := range []string{"192.0.2.1", "192.0.2.2"} {
		for _, namespace := range []string{"dns", "team"} {
			p.records = append(p.records, &v1alpha1.Record{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("static-", i)},
				Spec:       v1alpha1.RecordSpec{Type: "A", RData: value},
				Status:     v1alpha1.RecordStatus{FQDN: "www.example.org."}})
		}
	}
	own, tenant := newKey("*.example.org.", "example.org."), newKey("*.example.org.", "example.org.")
	own.Namespace = "dns"
	for _, key := range []*v1alpha1.UpdateKey{own, tenant} {
		for i := range key.Spec.Records {
			key.Spec.Records[i].Types = []string{"A", "AAAA", "NS"}
		}
	}
	for _, test := range []struct {
		by                 *v1alpha1.UpdateKey
		owner, rtype, data string
		want, refusal      string
	}{
		{own, "ns1", "A", "192.0.2.53", "REFUSED", "spec.nameServers"},
		{own, "ns1", "AAAA", "", "REFUSED", "spec.nameServers"},
		{own, "ns1", "ANY", "", "NOERROR", ""}, // a deletion of the name keeps them
		{own, "ns1", "A", "192.0.2.54", "NOERROR", ""},
		{own, "@", "NS", "NS2.example.net.", "REFUSED", "spec.nameServers"},
		{own, "www", "A", "192.0.2.2", "REFUSED", "a Record of the namespace"},
		{tenant, "www", "A", "192.0.2.2", "REFUSED", "a Record of the namespace"},
		{tenant, "ns1", "A", "192.0.2.53", "NOERROR", ""},
		{tenant, "@", "NS", "ns1.example.org.", "NOERROR", ""},
		{tenant, "@", "NS", "", "REFUSED", "value by value"},
	} {
		r := v1alpha1.UpdateRequestRecord{Name: strings.TrimPrefix(test.owner+".example.org.", "@."), Type: test.rtype, Class: "NONE",
			Data: test.data}
		if test.data == "" {
			r.Class = "ANY"
		}
		got := must.Get(p.sendUpdate(t, test.by, r))(t)
		if got.RCode != test.want || !strings.Contains(got.Message, test.refusal) || len(p.sets) > 0 {
			t.Errorf("%+v by %s: %+v, want %s %q; %d sets", r, test.by.Namespace, got, test.want, test.refusal, len(p.sets))
		}
	}
	// Additions that the Zone itself makes write nothing, and an update's NS can go while others remain.
	add := v1alpha1.UpdateRequestRecord{Name: "ns1.example.org.", Type: "A", Class: "IN", TTL: 60, Data: "192.0.2.53"}
	if got := must.Get(p.sendUpdate(t, own, add))(t); got.RCode != "NOERROR" || len(p.sets) > 0 {
		t.Errorf("%+v, %d sets", got, len(p.sets))
	}
	for what, test := range map[string]struct {
		made    []content.RRset
		ns      []string
		refused bool
	}{"the Zone makes others": {p.made, []string{"mine"}, false}, "another namespace has some": {nil, []string{"mine", "its"}, false},
		"it is the last": {nil, []string{"mine.example.org."}, true}} {
		for _, key := range []*v1alpha1.UpdateKey{own, tenant} {
			object := metav1.ObjectMeta{Namespace: key.Namespace, Labels: map[string]string{v1alpha1.LabelDynamic: "true"},
				Name: objectNameOf(zone{"", name.MustParse("example.org.")}, name.MustParse("example.org."), rdata.NS)}
			share := &v1alpha1.Record{ObjectMeta: object,
				Spec:   v1alpha1.RecordSpec{Type: "NS", Values: []string{"mine.example.org."}},
				Status: v1alpha1.RecordStatus{FQDN: "example.org."}}
			p := &planned{records: []*v1alpha1.Record{share}, made: test.made, apexNS: test.ns}
			got := must.Get(p.sendUpdate(t, key, v1alpha1.UpdateRequestRecord{Name: "example.org.", Type: "NS", Class: "NONE",
				Data: "mine.example.org."}))(t)
			if (got.RCode == "REFUSED") != test.refused || (len(p.sets) == 0) != test.refused {
				t.Errorf("%s, by %s: %+v, %d sets", what, key.Namespace, got, len(p.sets))
			}
		}
	}
}

// A client repeats a message whose outcome is unknown. If a Record has the message's id, the message was carried out,
// so the answer is NOERROR, although its prerequisites no longer hold. Another message with equal content is judged as
// usual (S13.4).
func TestUpdate_knowsItsOwnWork_S13_4(t *testing.T) {
	unmet := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 412, Reason: v1alpha1.StatusReasonPrerequisiteFailed,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "spec.prerequisites[0]"}}}}}
	absent := v1alpha1.UpdateRequestRecord{Name: "a.apps.example.org.", Type: "ANY", Class: "NONE"}
	spec := func(id string) v1alpha1.UpdateRequestSpec {
		return v1alpha1.UpdateRequestSpec{ID: id, Prerequisites: []v1alpha1.UpdateRequestRecord{absent},
			Updates: []v1alpha1.UpdateRequestRecord{addAddress("a.apps.example.org.", "192.0.2.1"),
				addAddress("b.apps.example.org.", "192.0.2.1")}}
	}
	key := newKey("*.apps.example.org.")
	first := &planned{}
	must.Get(first.sendRequest(t, key, spec("one")))(t)
	written := func() (records []*v1alpha1.Record) {
		for _, item := range first.sets[0].Spec.Items {
			r := item.Create.Object.(*v1alpha1.Record)
			r.Status.FQDN, r.Status.Serial = r.Spec.DomainName, 7
			records = append(records, r)
		}
		return records
	}
	for what, test := range map[string]struct {
		id       string
		existing []*v1alpha1.Record
		appears  []*v1alpha1.Record // between the first read and the decision
		want     string
		sets     int
	}{
		"again":                     {"one", written(), nil, "NOERROR", 0},
		"again, a part was changed": {"one", written()[1:], nil, "NOERROR", 0},
		"while the first one ends":  {"one", nil, written(), "NOERROR", 1},
		"another message":           {"two", nil, written(), "YXDOMAIN", 1},
		"a message without an id":   {"", nil, written(), "YXDOMAIN", 1},
	} {
		p := &planned{records: test.existing, fail: []error{unmet}, judged: unmet, appears: test.appears}
		got := must.Get(p.sendRequest(t, key, spec(test.id)))(t)
		if got.RCode != test.want || len(p.sets) != test.sets {
			t.Errorf("%s: %+v, %d sets, want %s, %d", what, got, len(p.sets), test.want, test.sets)
		}
	}
}

// An UpdateKey with recordsExpireAfter sets the time of each RRset that it writes. Adding the same value again, as a
// DHCP server does, moves the time if a tenth of the period has passed (S13.17).
func TestUpdate_setsTheExpiry_S13_17(t *testing.T) {
	key := newKey("*.apps.example.org.")
	key.Spec.RecordsExpireAfter = &metav1.Duration{Duration: time.Hour}
	a, b := addAddress("a.apps.example.org.", "192.0.2.1"), addAddress("a.apps.example.org.", "192.0.2.2")
	p := &planned{}
	must.Get(p.sendUpdate(t, key, a))(t)
	made := p.sets[0].Spec.Items[0].Create.Object.(*v1alpha1.Record)
	made.Status.FQDN = made.Spec.DomainName
	at := made.Spec.ExpiresAt
	if left := time.Until(at.Time); left > time.Hour || left < time.Hour-time.Minute || at.Nanosecond() != 0 {
		t.Errorf("expires at %s", at)
	}
	with := func(at *metav1.Time) *v1alpha1.Record {
		r := made.DeepCopy()
		r.Spec.ExpiresAt = at
		return r
	}
	soon := &metav1.Time{Time: at.Add(-10 * time.Minute)}
	other := newKey("*.apps.example.org.") // whose Records do not expire
	gone := v1alpha1.UpdateRequestRecord{Name: a.Name, Type: "A", Class: "NONE", Data: "192.0.2.9"}
	for what, test := range map[string]struct {
		key      *v1alpha1.UpdateKey
		existing *metav1.Time
		update   v1alpha1.UpdateRequestRecord
		sets     int
		forever  bool
	}{
		"the same value at once":          {key, at, a, 0, false},
		"the same value later":            {key, soon, a, 1, false},
		"the same value, without a time":  {key, nil, a, 1, false},
		"another value at once":           {key, at, b, 1, false},
		"the same value by another key":   {other, soon, a, 0, false},
		"another value by a key of never": {other, soon, b, 1, true},
		"a deletion":                      {key, soon, gone, 0, false},
	} {
		p := &planned{records: []*v1alpha1.Record{with(test.existing)}}
		if got := must.Get(p.sendUpdate(t, test.key, test.update))(t); got.RCode != "NOERROR" || len(p.sets) != test.sets {
			t.Errorf("%s: %+v, %d sets", what, got, len(p.sets))
			continue
		}
		for _, set := range p.sets {
			if r := set.Spec.Items[0].Apply.Object.(*v1alpha1.Record); r.Spec.ExpiresAt.After(time.Now().Add(2*time.Hour)) != test.forever {
				t.Errorf("%s: expires at %v", what, r.Spec.ExpiresAt)
			}
		}
	}
	for d, valid := range map[time.Duration]bool{time.Minute: true, 87600 * time.Hour: true, time.Second: false, 87601 * time.Hour: false,
		time.Minute + time.Millisecond: false} {
		key.Spec.RecordsExpireAfter.Duration = d
		if errs := NewKind(verbs(""), noRules, nil).Validate(key); (len(errs) == 0) != valid {
			t.Errorf("%s: %v", d, errs)
		}
	}
}

// S13.1: the key's own limits precede any write.
func TestUpdate_staysWithinTheKey_S13_1(t *testing.T) {
	suspended := newKey("*.apps.example.org.")
	suspended.Spec.Suspended = true
	for what, test := range map[string]struct {
		key  *v1alpha1.UpdateKey
		by   v1alpha1.UpdateRequestRecord
		want string
	}{
		"a name beyond": {newKey("*.apps.example.org."), addAddress("www.example.org.", "192.0.2.1"), "REFUSED"},
		"a zone below":  {newKey("*.example.org."), addAddress("www.sub.example.org.", "192.0.2.1"), "REFUSED"},
		"a type not named": {newKey("*.example.org."),
			v1alpha1.UpdateRequestRecord{Name: "www.example.org.", Type: "NS", Class: "ANY"}, "REFUSED"},
		"a suspended key":     {suspended, addAddress("a.apps.example.org.", "192.0.2.1"), "REFUSED"},
		"outside of the zone": {newKey("*.example.net."), addAddress("a.example.net.", "192.0.2.1"), "NOTZONE"},
	} {
		p := &planned{}
		status, err := p.sendUpdate(t, test.key, test.by)
		if err != nil || status.RCode != test.want || len(p.sets) > 0 || len(p.reported) != 1 || p.reported[0] != test.want {
			t.Errorf("%s: %+v, %v, %d sets, told %q", what, status, err, len(p.sets), p.reported)
		}
	}
}
