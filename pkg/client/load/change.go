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

// Change is a planned write, as shown to the user, such as "+ www.example.org. A 192.0.2.1".
type Change struct {
	// Op is "+" for an addition, "~" for a change, "-" for a removal.
	Op string `json:"op"`
	// Zone is NAMESPACE/NAME of the written Zone, of a Record's zone, or of the zone with the rule; "" if unknown.
	Zone string `json:"zone,omitempty"`
	// Object names the Record of a manifest, or the Zone that derives an entry.
	Object    string `json:"object,omitempty"`
	Text      string `json:"text"`
	Namespace string `json:"namespace,omitempty"`
	FQDN      string `json:"fqdn,omitempty"`
	Type      string `json:"type,omitempty"`
	// After names an object of the same plan that must be written first, or "".
	After string `json:"after,omitempty"`
	// Undecided is true if the server refuses the write now, and may take it after After.
	Undecided bool `json:"undecided,omitempty"`
	// Values is the number of added values of a Record, less the removed.
	Values int `json:"-"`
	// SameData is true if a Record gets another spelling of the same data, such as 2001:DB8::1 for 2001:db8::1, which
	// changes neither content nor serial of the zone.
	SameData              bool           `json:"-"`
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

// ChangesOfRecord lists the changes from before to after. A nil Record does not exist.
func ChangesOfRecord(before, after *v1alpha1.Record, zone types.NamespacedName) (changes []Change) {
	add := func(op string, r *v1alpha1.Record, text string, values int) {
		c := Change{Op: op, Text: text, Namespace: r.Namespace, FQDN: cmp.Or(r.Status.FQDN, r.Spec.DomainName), Type: r.Spec.Type,
			Values: values}
		if zone.Name != "" {
			c.Zone = zone.String()
		}
		changes = append(changes, c)
	}
	if before != nil && after != nil && sameType(before.Spec.Type, after.Spec.Type) && after.Status.FQDN == before.Status.FQDN {
		if change, sameData := recordChange(&before.Spec, &after.Spec); change != "" {
			add("~", after, after.Status.FQDN+" "+after.Spec.Type+": "+change, len(valuesOf(&after.Spec))-len(valuesOf(&before.Spec)))
			changes[0].SameData = sameData
		}
		return changes
	}
	if before != nil {
		add("-", before, recordLine(before), -len(valuesOf(&before.Spec)))
	}
	if after != nil {
		add("+", after, recordLine(after), len(valuesOf(&after.Spec)))
	}
	return changes
}

func isIn(r *v1alpha1.Record, zone types.NamespacedName) bool {
	if by := r.Status.ZoneRef; by != nil {
		return by.Namespace == zone.Namespace && by.Name == zone.Name
	}
	ref := r.Spec.ZoneRef
	return ref != nil && ref.Name == zone.Name && cmp.Or(ref.Namespace, r.Namespace) == zone.Namespace
}

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

func sameType(one, other string) bool {
	parsed, err := rdata.ParseType(one)
	second, otherErr := rdata.ParseType(other)
	return one == other || cmp.Or(err, otherErr) == nil && parsed == second
}

// definitionsOf returns the values in the spelling that the zone's hash covers (S6.7). The name "mail" stays relative,
// so "mail.example.org." is another value.
func definitionsOf(spec *v1alpha1.RecordSpec) []string {
	texts := slices.Clone(valuesOf(spec))
	rrtype, err := rdata.ParseType(spec.Type)
	for i, text := range texts {
		if value, unread := rdata.Parse(rrtype, text); cmp.Or(err, unread) == nil {
			texts[i] = value.Text
		}
	}
	return texts
}

// recordChange describes the change of a Record's data, or is "". If only the spelling changes, sameData is true.
func recordChange(have, want *v1alpha1.RecordSpec) (text string, sameData bool) {
	ttl := func(t *int32) string {
		if t == nil {
			return "that of the zone"
		}
		return fmt.Sprint(*t)
	}
	var parts []string
	if ttl(have.TTL) != ttl(want.TTL) {
		parts = append(parts, fmt.Sprintf("ttl %s instead of %s", ttl(want.TTL), ttl(have.TTL)))
	}
	parts = append(parts, valuesChange(valuesOf(have), valuesOf(want), definitionsOf(have), definitionsOf(want))...)
	if len(parts) == 0 {
		parts, sameData = valuesChange(valuesOf(have), valuesOf(want), valuesOf(have), valuesOf(want)), true
	}
	return strings.Join(parts, ", "), sameData
}

// valuesChange names the values whose definitions come and go. The order of values does not count.
func valuesChange(before, after, hadDefinitions, hasDefinitions []string) (parts []string) {
	for i, value := range after {
		if !slices.Contains(hadDefinitions, hasDefinitions[i]) {
			parts = append(parts, "with "+value)
		}
	}
	for i, value := range before {
		if !slices.Contains(hasDefinitions, hadDefinitions[i]) {
			parts = append(parts, "without "+value)
		}
	}
	return parts
}

func objectLine(what string, o *unstructured.Unstructured) string {
	line := what + ":"
	for _, field := range []string{"domainName", "ttl", "type", "rdata", "values", "namespaces"} {
		if value, found, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", field); found {
			line += fmt.Sprintf(" %v", value)
		}
	}
	return strings.TrimSuffix(line, ":")
}

func objectChange(before, after *unstructured.Unstructured) string {
	before, after = before.DeepCopy(), after.DeepCopy()
	dropServerFields(before)
	dropServerFields(after)
	return strings.Join(changesOf("", before.Object, after.Object), ", ")
}

func changesOf(field string, had, has any) (parts []string) {
	if equality.Semantic.DeepEqual(had, has) {
		return nil
	}
	hadMap, wasMap := had.(map[string]any)
	hasMap, isMap := has.(map[string]any)
	if wasMap && isMap {
		both := maps.Clone(hadMap)
		maps.Copy(both, hasMap)
		for _, key := range slices.Sorted(maps.Keys(both)) {
			parts = append(parts, changesOf(strings.TrimPrefix(field+"."+key, "."), hadMap[key], hasMap[key])...)
		}
		return parts
	}
	hadList, wasList := had.([]any)
	hasList, isList := has.([]any)
	if !wasList || !isList {
		return []string{fmt.Sprintf("%s %s instead of %s", field, asJSON(has), asJSON(had))}
	}
	come, gone := elementsBeyond(hasList, hadList), elementsBeyond(hadList, hasList)
	if len(come) == 1 && len(gone) == 1 {
		return changesOf(field+"[]", gone[0], come[0])
	}
	for _, element := range come {
		parts = append(parts, "with "+asJSON(element))
	}
	for _, element := range gone {
		parts = append(parts, "without "+asJSON(element))
	}
	return []string{field + " " + cmp.Or(strings.Join(parts, ", "), "in another order")}
}

func elementsBeyond(list, other []any) (all []any) {
	for _, element := range list {
		if !slices.ContainsFunc(other, func(e any) bool { return equality.Semantic.DeepEqual(e, element) }) {
			all = append(all, element)
		}
	}
	return all
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

func dropServerFields(o *unstructured.Unstructured) {
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "status")
}

type manifest struct {
	path             string
	object           *unstructured.Unstructured
	owner            string    // the Record's DNS name in the manifest, if known
	created          time.Time // on an earlier server, or zero
	before           *unstructured.Unstructured
	answer           *unstructured.Unstructured // of the server to the write
	after            string                     // the object to write first
	afterNew         bool                       // that object is a new Zone
	undecided        bool                       // whether the server will take it
	refused          *Refusal                   // by a dry run
	resolvedWarnings map[string]bool
}

func newManifest(path string, o *unstructured.Unstructured) *manifest {
	m := &manifest{path: path, object: o.DeepCopy(), created: o.GetCreationTimestamp().Time}
	if m.owner, _, _ = unstructured.NestedString(o.Object, "status", "fqdn"); m.owner == "" {
		m.owner, _, _ = unstructured.NestedString(o.Object, "spec", "domainName")
	}
	dropServerFields(m.object)
	return m
}

func (m *manifest) isRecord() bool {
	return m.object.GroupVersionKind() == v1alpha1.SchemeGroupVersion.WithKind("Record")
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

func ObjectRefusal(path string, o *unstructured.Unstructured, reason, fix string) Refusal {
	return Refusal{Path: path, Text: describeObject(o), Reason: reason, Fix: fix}
}

type existingRecords struct {
	byName  map[string]*v1alpha1.Record
	byRRset map[rrset][]*v1alpha1.Record
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
	typ, err := rdata.ParseType(record.Spec.Type)
	if err == nil && record.Status.ZoneRef != nil && isIn(record, zone) && record.DeletionTimestamp == nil {
		key := rrset{record.Status.FQDN, typ}
		t.byRRset[key] = append(t.byRRset[key], record)
	}
}

func (t *existingRecords) coversSet(s *set, to *destination) (ttl uint32, ok bool) {
	fqdn, err := s.owner.In(to.fqdn)
	if err != nil {
		return 0, false
	}
	held := make(map[string]bool)
	for i, record := range t.byRRset[rrset{fqdn.String(), s.typ}] {
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

func zoneRefOf(o *unstructured.Unstructured) (zone types.NamespacedName, found bool) {
	zone.Name, found, _ = unstructured.NestedString(o.Object, "spec", "zoneRef", "name")
	namespace, _, _ := unstructured.NestedString(o.Object, "spec", "zoneRef", "namespace")
	zone.Namespace = cmp.Or(namespace, o.GetNamespace())
	return zone, found
}

func zoneIDOf(o *unstructured.Unstructured) types.NamespacedName {
	if o.GetKind() == "Zone" {
		return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	}
	zone, _ := zoneRefOf(o)
	return zone
}

func namesIn(o *unstructured.Unstructured) []string {
	names, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "namespaces")
	return names
}
