// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Change is what one write of a plan changes.
type Change struct {
	// Op is + for what is added, ~ for what is changed and - for what is removed.
	Op string `json:"op"`
	// Zone is the Zone that the object is, lies in or is a rule of, as NAMESPACE/NAME; empty: none.
	Zone string `json:"zone,omitempty"`
	// Object is a Record of a manifest, or the Zone that makes an entry. Text says what changes, of others with the
	// object.
	Object string `json:"object,omitempty"`
	Text   string `json:"text"`
	// Namespace, FQDN and Type are those of a Record, or of an entry that a Zone makes in the zone above it.
	Namespace string `json:"namespace,omitempty"`
	FQDN      string `json:"fqdn,omitempty"`
	Type      string `json:"type,omitempty"`
	// After is the object of the same plan that decides about this one; then the server's answer may become another.
	After string `json:"after,omitempty"`
	// ZoneBefore and ZoneAfter are the Zone that is written, as it is and as the server answers; nil: there is none.
	ZoneBefore, ZoneAfter *v1alpha1.Zone `json:"-"`
}

func (c Change) String() string {
	var more []string
	if c.Object != "" {
		more = append(more, c.Object)
	}
	if c.After != "" {
		more = append(more, "after: "+c.After)
	}
	line := c.Op + " " + c.Text
	if len(more) > 0 {
		line += " (" + strings.Join(more, "; ") + ")"
	}
	return line
}

// ChangesOfRecord lists what becomes of a Record that is in a zone or is to be, nil where it is not there.
func ChangesOfRecord(before, after *v1alpha1.Record, zone types.NamespacedName) (changes []Change) {
	add := func(op string, r *v1alpha1.Record, text string) {
		c := Change{Op: op, Text: text, Namespace: r.Namespace, FQDN: cmp.Or(r.Status.FQDN, r.Spec.DomainName), Type: r.Spec.Type}
		if zone.Name != "" {
			c.Zone = zone.String()
		}
		changes = append(changes, c)
	}
	if before != nil && after != nil && after.Spec.Type == before.Spec.Type && after.Status.FQDN == before.Status.FQDN {
		if change := recordChange(&before.Spec, &after.Spec); change != "" {
			add("~", after, after.Status.FQDN+" "+after.Spec.Type+": "+change)
		}
		return changes
	}
	if before != nil {
		add("-", before, recordLine(before))
	}
	if after != nil {
		add("+", after, recordLine(after))
	}
	return changes
}

// isIn reports that the zone has adopted the record, or that the record names it.
func isIn(r *v1alpha1.Record, zone types.NamespacedName) bool {
	if by := r.Status.ZoneRef; by != nil {
		return by.Namespace == zone.Namespace && by.Name == zone.Name
	}
	ref := r.Spec.ZoneRef
	return ref != nil && ref.Name == zone.Name && cmp.Or(ref.Namespace, r.Namespace) == zone.Namespace
}

// recordLine formats a Record as a line of a plan.
func recordLine(r *v1alpha1.Record) string {
	line := cmp.Or(r.Status.FQDN, r.Spec.DomainName)
	if r.Spec.TTL != nil {
		line += fmt.Sprintf(" %d", *r.Spec.TTL)
	}
	return line + " " + r.Spec.Type + " " + strings.Join(valuesOf(&r.Spec), ", ")
}

func valuesOf(spec *v1alpha1.RecordSpec) []string {
	if spec.RData != "" {
		return append([]string{spec.RData}, spec.Values...)
	}
	return spec.Values
}

// recordChange formats the change of a Record as the end of a line of a plan.
func recordChange(have, want *v1alpha1.RecordSpec) string {
	ttl := func(t *int32) string {
		if t == nil {
			return "that of the zone"
		}
		return fmt.Sprint(*t)
	}
	var said []string
	if ttl(have.TTL) != ttl(want.TTL) {
		said = append(said, fmt.Sprintf("ttl %s instead of %s", ttl(want.TTL), ttl(have.TTL)))
	}
	before, after := valuesOf(have), valuesOf(want)
	for _, value := range after {
		if !slices.Contains(before, value) {
			said = append(said, "with "+value)
		}
	}
	for _, value := range before {
		if !slices.Contains(after, value) {
			said = append(said, "without "+value)
		}
	}
	return strings.Join(said, ", ")
}

// objectLine formats an object of a manifest as a line of a plan.
func objectLine(what string, o *unstructured.Unstructured) string {
	line := what + ":"
	for _, field := range []string{"domainName", "ttl", "type", "rdata", "values", "namespaces"} {
		if value, found, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", field); found {
			line += fmt.Sprintf(" %v", value)
		}
	}
	return strings.TrimSuffix(line, ":")
}

// objectChange lists the fields that an apply changes, empty if it changes nothing but the status.
func objectChange(before, after *unstructured.Unstructured) string {
	before, after = before.DeepCopy(), after.DeepCopy()
	fields := make(map[string][2]any)
	for i, o := range []*unstructured.Unstructured{before, after} {
		set := func(field string, value any) {
			pair := fields[field]
			pair[i] = value
			fields[field] = pair
		}
		dropServerFields(o)
		for part, content := range o.Object {
			inner, ok := content.(map[string]any)
			if !ok {
				set(part, content)
			}
			for key, value := range inner {
				set(part+"."+key, value)
			}
		}
	}
	var said []string
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		pair := fields[field]
		if equality.Semantic.DeepEqual(pair[0], pair[1]) {
			continue
		}
		said = append(said, valueChange(field, pair[0], pair[1]))
	}
	return strings.Join(said, ", ")
}

func valueChange(field string, had, has any) string {
	hadList, isList := had.([]any)
	if hasList, ok := has.([]any); ok && isList {
		return listChange(field, hadList, hasList)
	}
	return fmt.Sprintf("%s %s instead of %s", field, asJSON(has), asJSON(had))
}

// listChange says which elements come and go, and of a large one that is another one now, what of it is.
func listChange(field string, had, has []any) string {
	come, gone := elementsBeyond(has, had), elementsBeyond(had, has)
	var said []string
	for i := 0; i < len(come) && len(come) == len(gone); i++ {
		before, isMap := gone[i].(map[string]any)
		after, ok := come[i].(map[string]any)
		if !isMap || !ok || !isShortened(before) && !isShortened(after) {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(mergeKeys(before, after))) {
			if !equality.Semantic.DeepEqual(before[key], after[key]) {
				said = append(said, valueChange(field+"[]."+key, before[key], after[key]))
			}
		}
		come[i], gone[i] = nil, nil
	}
	var whole []string
	for _, one := range []struct {
		word string
		of   []any
	}{{"with ", come}, {"without ", gone}} {
		for _, element := range one.of {
			if element != nil {
				whole = append(whole, one.word+asJSON(element))
			}
		}
	}
	if len(whole) > 0 {
		said = append(said, field+" "+strings.Join(whole, ", "))
	}
	return cmp.Or(strings.Join(said, ", "), field+" in another order")
}

// elementsBeyond returns the elements of a list that another one lacks.
func elementsBeyond(list, other []any) (all []any) {
	for _, element := range list {
		if !slices.ContainsFunc(other, func(e any) bool { return equality.Semantic.DeepEqual(e, element) }) {
			all = append(all, element)
		}
	}
	return all
}

func mergeKeys(x, y map[string]any) map[string]any {
	both := maps.Clone(x)
	maps.Copy(both, y)
	return both
}

func isShortened(value any) bool {
	text, err := json.Marshal(value)
	return err == nil && shorten(string(text)) != string(text)
}

func asJSON(value any) string {
	if value == nil {
		return "nothing"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return shorten(string(text))
}

// dropServerFields removes the fields that a server sets and an export contains.
func dropServerFields(o *unstructured.Unstructured) {
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "status")
}

// manifest is one object of a file.
type manifest struct {
	path   string
	object *unstructured.Unstructured
	// owner is its DNS name, as far as the manifest tells; created is when it was created on an earlier server.
	owner   string
	created time.Time
	// before and answer are the object before and after the write; after is the object of the plan that it depends on.
	before, answer *unstructured.Unstructured
	after          string
	// answered has the reasons of Warnings that other manifests answer.
	answered map[string]bool
}

// newManifest keeps of an object what the loader needs, and drops the fields that the server sets.
func newManifest(path string, o *unstructured.Unstructured) *manifest {
	m := &manifest{path: path, object: o.DeepCopy(), created: o.GetCreationTimestamp().Time}
	if m.owner, _, _ = unstructured.NestedString(o.Object, "status", "fqdn"); m.owner == "" {
		m.owner, _, _ = unstructured.NestedString(o.Object, "spec", "domainName")
	}
	dropServerFields(m.object)
	return m
}

func (m *manifest) refusal(reason, fix string) Refusal {
	return ObjectRefusal(m.path, m.object, reason, fix)
}

func describeObject(o *unstructured.Unstructured) string {
	kind := strings.ToLower(o.GetKind())
	if namespace := o.GetNamespace(); namespace != "" {
		return kind + " " + namespace + "/" + o.GetName()
	}
	return kind + " " + o.GetName()
}

// ObjectRefusal is the refusal of an object.
func ObjectRefusal(path string, o *unstructured.Unstructured, reason, fix string) Refusal {
	return Refusal{Path: path, Text: describeObject(o), Reason: reason, Fix: fix}
}

// existingRecords are the Records that exist already.
type existingRecords struct {
	byName map[string]*v1alpha1.Record
	// adopted are those that the zone has adopted, whichever client made them.
	adopted map[rrset][]*v1alpha1.Record
}

type rrset struct {
	fqdn string
	typ  rdata.Type
}

func (t *existingRecords) addRecord(record *v1alpha1.Record, zone types.NamespacedName) {
	if t.byName[record.Name] != nil {
		return
	}
	t.byName[record.Name] = record
	by := record.Status.ZoneRef
	typ, err := rdata.ParseType(record.Spec.Type)
	if err != nil || by == nil || by.Namespace != zone.Namespace || by.Name != zone.Name || record.DeletionTimestamp != nil {
		return
	}
	key := rrset{record.Status.FQDN, typ}
	t.adopted[key] = append(t.adopted[key], record)
}

// coversSet reports that adopted Records have every value of s, and the TTL that they are served with. No second Record
// is made beside one made by hand.
func (t *existingRecords) coversSet(s *set, to *destination) (ttl uint32, ok bool) {
	fqdn, err := s.owner.In(to.fqdn)
	if err != nil {
		return 0, false
	}
	held := make(map[string]bool)
	for i, record := range t.adopted[rrset{fqdn.String(), s.typ}] {
		for _, text := range append([]string{record.Spec.RData}, record.Spec.Values...) {
			if value, err := rdata.Parse(s.typ, text); err == nil {
				if resolved, err := value.Resolve(to.fqdn); err == nil {
					held[resolved] = true
				}
			}
		}
		own := cmp.Or(record.Spec.TTL, to.ttl)
		if own == nil {
			return 0, false
		}
		if i == 0 || uint32(*own) < ttl {
			ttl = uint32(*own)
		}
	}
	for _, text := range s.data {
		if !held[text] {
			return 0, false
		}
	}
	return ttl, true
}
