// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/objectname"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

func readScope(key *v1alpha1.UpdateKey) (rules.Scope, error) {
	var records []rules.ScopeRecords
	for _, r := range key.Spec.Records {
		records = append(records, rules.ScopeRecords(r))
	}
	return rules.NewScope(records)
}

const maxID = 64

// readMessage returns the DNS UPDATE message of a request, or the fields that do not parse.
func readMessage(spec *v1alpha1.UpdateRequestSpec) (m *update.Message, errs field.ErrorList) {
	path := field.NewPath("spec")
	apex, err := name.Parse(spec.Zone)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path.Child("zone"), spec.Zone, err.Error())}
	}
	if len(spec.ID) > maxID {
		return nil, field.ErrorList{field.TooLong(path.Child("id"), "", maxID)}
	}
	m = &update.Message{Zone: apex, ID: spec.ID}
	if m.Prerequisites, errs = readRecords(spec.Prerequisites, path.Child("prerequisites")); len(errs) > 0 {
		return nil, errs
	}
	m.Updates, errs = readRecords(spec.Updates, path.Child("updates"))
	return m, errs
}

func readRecords(records []v1alpha1.UpdateRequestRecord, path *field.Path) (all []update.RR, errs field.ErrorList) {
	for i := range records {
		rr, errs := readRecord(&records[i], path.Index(i))
		if len(errs) > 0 {
			return nil, errs
		}
		all = append(all, rr)
	}
	return all, nil
}

// readRecord returns an RR of the prerequisite or update section. Data is "" if the RR means a whole RRset or name.
func readRecord(r *v1alpha1.UpdateRequestRecord, path *field.Path) (rr update.RR, errs field.ErrorList) {
	var err error
	if rr.Name, err = name.Parse(r.Name); err != nil {
		return rr, field.ErrorList{field.Invalid(path.Child("name"), r.Name, err.Error())}
	}
	if rr.Type, err = rdata.ParseType(r.Type); err != nil {
		return rr, field.ErrorList{field.Invalid(path.Child("type"), r.Type, err.Error())}
	}
	if r.TTL < 0 || r.TTL > 1<<32-1 {
		return rr, field.ErrorList{field.Invalid(path.Child("ttl"), r.TTL, "is no TTL")}
	}
	rr.Class, rr.TTL = update.Class(r.Class), uint32(r.TTL)
	if r.Data != "" {
		// As strict as for Records, since the value becomes one.
		v, err := rdata.Parse(rr.Type, r.Data)
		if err != nil {
			return rr, field.ErrorList{field.Invalid(path.Child("data"), r.Data, err.Error())}
		}
		rr.Data = v.Text
	}
	return rr, nil
}

const fieldManager = "dynamic-update"

type share map[rdata.Type]*v1alpha1.Record

// divideRecords divides a namespace's Records at a name into the dynamic share, which updates may change, and the other
// Records, which they leave (S13.5). made has the Records of the share by type.
func divideRecords(s rules.Scope, in zone, fqdn name.Name, records []*v1alpha1.Record) (p update.Present, made share, err error) {
	made = share{}
	for _, r := range records {
		set, err := readSet(in.fqdn, r)
		if err != nil {
			return p, nil, err
		}
		// A Record of the share outside the key's scope is in neither: another key may have written it.
		if !isMade(in, fqdn, set.Type, r) {
			p.Records = append(p.Records, set)
		} else if s.Covers(fqdn, set.Type) {
			p.Share, made[set.Type] = append(p.Share, set), r
		}
	}
	return p, made, nil
}

func isMade(in zone, fqdn name.Name, t rdata.Type, r *v1alpha1.Record) bool {
	return r.Labels[v1alpha1.LabelDynamic] == "true" && r.Name == objectNameOf(in, fqdn, t)
}

func objectNameOf(in zone, fqdn name.Name, t rdata.Type) string {
	owner, _ := fqdn.Rel(in.fqdn)
	names := objectname.OfZone(in.fqdn, in.view)
	if in.view != "" {
		return objectname.OfUpdate(owner, t, names[1])
	}
	return objectname.OfUpdate(owner, t, names[0])
}

type zone struct {
	view string
	fqdn name.Name
}

// readSet returns the RRset of a stored Record, with absolute names. The TTL is 0 if the Record has none.
func readSet(apex name.Name, r *v1alpha1.Record) (update.RRset, error) {
	t, err := rdata.ParseType(r.Spec.Type)
	if err != nil {
		return update.RRset{}, fmt.Errorf("record %s/%s: spec.type: %w", r.Namespace, r.Name, err)
	}
	texts := r.Spec.Values
	if r.Spec.RData != "" {
		texts = []string{r.Spec.RData}
	}
	set, err := resolveSet(apex, t, texts)
	if err != nil {
		return set, fmt.Errorf("record %s/%s: %w", r.Namespace, r.Name, err)
	}
	if r.Spec.TTL != nil {
		set.TTL = uint32(*r.Spec.TTL)
	}
	return set, nil
}

// resolveSet returns an RRset of values in presentation format, made absolute below apex, each once. Its TTL is 0.
func resolveSet(apex name.Name, t rdata.Type, texts []string) (update.RRset, error) {
	set := update.RRset{Type: t}
	for _, text := range texts {
		v, err := rdata.ParseStored(t, text)
		if err == nil {
			text, err = v.Resolve(apex)
		}
		if err != nil {
			return set, err
		}
		if !slices.Contains(set.Values, text) {
			set.Values = append(set.Values, text)
		}
	}
	return set, nil
}

// makeChange returns the write of a changed RRset: create or replace the Record of the share, or delete it if no value
// is left. id marks the Record with the message, "" for no mark.
func makeChange(key *v1alpha1.UpdateKey, in zone, id string, c update.Change, before *v1alpha1.Record) rrsets.Change {
	if len(c.Values) == 0 {
		return rrsets.Change{Before: before}
	}
	ttl := int32(c.TTL)
	r := &v1alpha1.Record{
		ObjectMeta: metav1.ObjectMeta{Name: objectNameOf(in, c.Name, c.Type), Namespace: key.Namespace,
			Labels: map[string]string{v1alpha1.LabelDynamic: "true"}},
		Spec: v1alpha1.RecordSpec{DomainName: c.Name.String(), View: key.Spec.View, Type: c.Type.String(), Values: c.Values, TTL: &ttl},
	}
	r.Spec.ExpiresAt = expiryBy(key)
	if r.Spec.ExpiresAt == nil && before != nil && before.Spec.ExpiresAt != nil {
		// No apply removes a field that came with the creation.
		r.Spec.ExpiresAt = &metav1.Time{Time: never}
	}
	for annotation, text := range map[string]string{v1alpha1.AnnotationUpdateKey: key.Name, v1alpha1.AnnotationUpdateID: id} {
		if text != "" {
			metav1.SetMetaDataAnnotation(&r.ObjectMeta, annotation, text)
		}
	}
	return rrsets.Change{Before: before, After: r}
}

// never is the last time that the API takes.
var never = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// expiryBy returns the time at which a Record expires that the key writes now, or nil for never.
func expiryBy(key *v1alpha1.UpdateKey) *metav1.Time {
	after := key.Spec.RecordsExpireAfter
	if after == nil {
		return nil
	}
	return &metav1.Time{Time: time.Now().Add(after.Duration).UTC().Truncate(time.Second)}
}

// listRenewals returns the RRsets of the share that a message adds to without a change, if the key moves their expiry:
// a DHCP server adds the same address again at each renewal of a lease. A tenth of the period passes between two such
// writes at least, so that a client in a hurry writes little.
func listRenewals(key *v1alpha1.UpdateKey, in zone, m *update.Message, changes []update.Change, made map[name.Name]share) (
	renewals []update.Change, err error) {
	expiry := expiryBy(key)
	if expiry == nil {
		return nil, nil
	}
	isListed := func(rr *update.RR) bool {
		return slices.ContainsFunc(slices.Concat(changes, renewals), func(c update.Change) bool {
			return c.Name == rr.Name && c.Type == rr.Type
		})
	}
	least := key.Spec.RecordsExpireAfter.Duration / 10
	for i := range m.Updates {
		rr := &m.Updates[i]
		r := made[rr.Name][rr.Type]
		if rr.Class != update.ClassIN || r == nil || isListed(rr) ||
			r.Spec.ExpiresAt != nil && expiry.Sub(r.Spec.ExpiresAt.Time) < least {
			continue
		}
		set, err := readSet(in.fqdn, r)
		if err != nil {
			return nil, err
		}
		renewals = append(renewals, update.Change{Name: rr.Name, RRset: set})
	}
	return renewals, nil
}

// makePrerequisites returns the prerequisites of the message as those of a ChangeSet, in the same order, by which
// rcodeOfUnmet finds them again.
func makePrerequisites(m *update.Message) (all []v1alpha1.ChangeSetPrerequisite) {
	for _, p := range m.ListPrerequisites() {
		one := v1alpha1.ChangeSetPrerequisite{Name: p.Name.String(), Values: p.Values}
		if p.Type != rdata.ANY {
			one.Type = p.Type.String()
		}
		if p.Values == nil {
			one.Exists = &p.Exists
		}
		all = append(all, one)
	}
	return all
}

func rcodeOfUnmet(p update.Prerequisite) update.RCode {
	switch {
	case p.Type == rdata.ANY && p.Exists:
		return update.NXDomain
	case p.Type == rdata.ANY:
		return update.YXDomain
	case p.Exists:
		return update.NXRRset
	}
	return update.YXRRset
}
