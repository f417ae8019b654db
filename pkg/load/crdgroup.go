// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

// crdGroup is an API group of another operator whose custom resources become Zones and Records.
type crdGroup struct {
	// kinds are those that a migration reads. The converter takes every version of them, since versions differ in
	// fields that it reads by their names.
	kinds []string
	// convert makes manifests of this API of all custom resources of one source. It reports each field that it does
	// not convert.
	convert func(c *conversion, all []*manifest) []*manifest
}

var crdGroups = map[string]crdGroup{
	bindyGroup:    {kinds: bindyKinds(), convert: convertBindy},
	gardenerGroup: {kinds: []string{"DNSEntry", "DNSAnnotation"}, convert: convertGardener},
}

// IsCRDGroup reports whether ImportCustomResources reads the custom resources of a group.
func IsCRDGroup(group string) bool {
	_, found := crdGroups[group]
	return found
}

// CRDGroups are the groups that ImportCustomResources reads.
func CRDGroups() []string { return slices.Sorted(maps.Keys(crdGroups)) }

// ImportCustomResources reads the custom resources of a group from the server, of all namespaces, and applies what they
// become.
func (l *Loader) ImportCustomResources(ctx context.Context, group string) (Result, error) {
	var all []*manifest
	served := false
	for _, kind := range crdGroups[group].kinds {
		mapping, err := l.mapping.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
		if meta.IsNoMatchError(err) {
			continue // older releases have fewer kinds
		}
		if err != nil {
			return Result{}, fmt.Errorf("import %s: %w", group, err)
		}
		served = true
		err = EachItem(ctx, l.dynamic.Resource(mapping.Resource).List, metav1.ListOptions{}, func(o *unstructured.Unstructured) error {
			all = append(all, &manifest{path: group, object: o})
			return nil
		})
		if err != nil {
			return Result{}, fmt.Errorf("import %s: list %s: %w", group, mapping.Resource.Resource, err)
		}
	}
	if !served {
		return Result{}, fmt.Errorf("import %s: the server has no custom resources of this group; connect to the cluster that has them, "+
			"or import a file of them", group)
	}
	result, err := l.applyManifests(ctx, group, all)
	l.reportHidden()
	return result, err
}

// convertCustomResources makes objects of this API of custom resources. A field that is not carried over is reported,
// and counted as refused, or as not taken over where the zone is the same without it.
func (l *Loader) convertCustomResources(all []*manifest) (converted []*manifest, result Result) {
	c := &conversion{
		refuse: func(m *manifest, reason, fix string) {
			l.reportRefused(m.refusal(reason, fix))
			result.Refused++
		},
		omit: func(m *manifest, reason, fix string) {
			l.sayGrouped("not taken over", m.refusal(reason, fix))
			result.NotTaken++
		},
	}
	byGroup := make(map[string][]*manifest)
	for _, m := range all {
		switch group := m.object.GroupVersionKind().Group; {
		case IsCRDGroup(group) && m.object.GetDeletionTimestamp() != nil:
			c.refuse(m, "it is being deleted", "let it go, or make it again")
		case IsCRDGroup(group):
			dropEmpty(m.object.Object)
			byGroup[group] = append(byGroup[group], m)
		default:
			if reason, fix := fromCustomResource(m.object); reason != "" {
				c.refuse(m, reason, fix)
				continue
			}
			converted = append(converted, m)
		}
	}
	for _, group := range CRDGroups() {
		// The oldest first: both operators let the older of two objects of one name have it.
		oldest := slices.SortedFunc(slices.Values(byGroup[group]), func(one, other *manifest) int {
			return cmp.Or(one.object.GetCreationTimestamp().Time.Compare(other.object.GetCreationTimestamp().Time),
				strings.Compare(one.describe(), other.describe()))
		})
		converted = append(converted, crdGroups[group].convert(c, oldest)...)
	}
	return slices.DeleteFunc(converted, func(m *manifest) bool {
		errs := checkSize(m.object) // before the first write, so that a migration is not cut off in the middle
		if len(errs) > 0 {
			c.refuse(m, errs.ToAggregate().Error(), "")
		}
		return len(errs) > 0
	}), result
}

// conversion takes the reports of a converter.
type conversion struct {
	// refuse reports an object that is not carried over; omit reports a part without which the rest is carried over.
	refuse, omit func(m *manifest, reason, fix string)
}

// makeReplacement makes the manifest of an object of this API that replaces a custom resource. It keeps labels and
// annotations that are not those of the replaced operator, and the time of creation, by which the older of two objects
// holds a name (S4.6). The owners go: the garbage collector of another cluster, which has none of them, would delete
// the object.
func (c *conversion) makeReplacement(was *manifest, object string, spec any, kind string) *manifest {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		c.refuse(was, err.Error(), "")
		return nil
	}
	group := was.object.GroupVersionKind().Group
	o := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	o.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind))
	o.SetNamespace(was.object.GetNamespace())
	o.SetName(object)
	if created := was.object.GetCreationTimestamp(); !created.IsZero() {
		o.SetCreationTimestamp(created)
	}
	foreign := func(key, _ string) bool {
		prefix, _, _ := strings.Cut(key, "/")
		return prefix == group || strings.HasSuffix(prefix, "."+group) || key == "kubectl.kubernetes.io/last-applied-configuration"
	}
	labels, annotations := was.object.GetLabels(), was.object.GetAnnotations()
	maps.DeleteFunc(labels, foreign)
	maps.DeleteFunc(annotations, foreign)
	if len(labels) > 0 {
		o.SetLabels(labels)
	}
	if len(annotations) > 0 {
		o.SetAnnotations(annotations)
	}
	for _, owner := range was.object.GetOwnerReferences() {
		if of, _, _ := strings.Cut(owner.APIVersion, "/"); of != group {
			c.omit(was, fmt.Sprintf("metadata.ownerReferences: %s %s, which made it, neither changes nor deletes the %s", owner.Kind,
				owner.Name, kind), "write it as others are written, and delete it with its owner")
		}
	}
	return &manifest{path: was.path, line: was.line, object: o}
}

// specReader reads a spec of which the schema is not known for sure. It collects faults, and knows the fields that
// were not read.
type specReader struct {
	path   string
	fields map[string]any
	asked  map[string]bool
	faults *[]string
}

func newSpecReader(o *unstructured.Unstructured) *specReader {
	fields, _ := o.Object["spec"].(map[string]any)
	return &specReader{path: "spec", fields: fields, asked: make(map[string]bool), faults: new([]string)}
}

func (s *specReader) fault(format string, arguments ...any) {
	*s.faults = append(*s.faults, fmt.Sprintf(format, arguments...))
}

// findField returns the first of the fields that is set; releases have used several names for some.
func (s *specReader) findField(fields ...string) (any, string) {
	var found any
	at := s.path + "." + fields[0]
	for _, field := range fields {
		s.asked[field] = true
		value, set := s.fields[field]
		switch {
		case !set:
		case found != nil:
			s.fault("%s.%s: %s is set, too; keep one of them", s.path, field, at)
		default:
			found, at = value, s.path+"."+field
		}
	}
	return found, at
}

// readValue reads a field of type T, the zero T if it is absent.
func readValue[T any](s *specReader, what string, fields ...string) (value T) {
	found, at := s.findField(fields...)
	if found == nil {
		return value
	}
	value, ok := found.(T)
	if !ok {
		s.fault("%s: %v is not %s", at, found, what)
	}
	return value
}

func (s *specReader) readText(fields ...string) string {
	return readValue[string](s, "a text", fields...)
}

func (s *specReader) readFlag(field string) bool { return readValue[bool](s, "true or false", field) }

// readInteger reads a number from low to high, or is nil.
func (s *specReader) readInteger(low, high int64, field string) *int64 {
	found, at := s.findField(field)
	if found == nil {
		return nil
	}
	n, ok := found.(int64)
	if !ok || n < low || n > high {
		s.fault("%s: %v is not a number from %d to %d", at, found, low, high)
		return nil
	}
	return &n
}

// readTexts reads a list of texts, or one text.
func (s *specReader) readTexts(fields ...string) []string {
	found, at := s.findField(fields...)
	if one, ok := found.(string); ok {
		return []string{one}
	}
	list, ok := found.([]any)
	if !ok && found != nil {
		s.fault("%s: %v is not a list of texts", at, found)
	}
	var all []string
	for i, item := range list {
		text, ok := item.(string)
		if !ok {
			s.fault("%s[%d]: %v is not a text", at, i, item)
		}
		all = append(all, text)
	}
	return all
}

// readObject reads a field with fields of its own, nil if it is absent.
func (s *specReader) readObject(fields ...string) *specReader {
	found, at := s.findField(fields...)
	if found == nil {
		return nil
	}
	return s.enterObject(at, found)
}

func (s *specReader) readObjects(field string) []*specReader {
	var all []*specReader
	for i, item := range readValue[[]any](s, "a list", field) {
		all = append(all, s.enterObject(fmt.Sprintf("%s.%s[%d]", s.path, field, i), item))
	}
	return all
}

func (s *specReader) enterObject(at string, value any) *specReader {
	fields, ok := value.(map[string]any)
	if !ok {
		s.fault("%s: %v is not an object", at, value)
	}
	return &specReader{path: at, fields: fields, asked: make(map[string]bool), faults: s.faults}
}

// require reports a field without which the object means nothing.
func (s *specReader) require(field string, set bool) {
	if !set {
		s.fault("%s.%s: is missing", s.path, field)
	}
}

// refuseUnknown reports the fields that were not read: the object would mean something else without them.
func (s *specReader) refuseUnknown() {
	for _, field := range slices.Sorted(maps.Keys(s.fields)) {
		if !s.asked[field] {
			s.fault("%s.%s: is not known to this import", s.path, field)
		}
	}
}

// fixFaults is the next step for faults of a specReader.
const fixFaults = "change the custom resource, or import a file without what is named"

// quoteText writes a character string of a TXT or CAA record as a zone file has it (RFC 1035 §5.1).
func quoteText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch octet := text[i]; {
		case octet == '"' || octet == '\\':
			b.WriteByte('\\')
			b.WriteByte(octet)
		case octet < ' ' || octet > '~':
			fmt.Fprintf(&b, `\%03d`, octet)
		default:
			b.WriteByte(octet)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// absoluteHost is a host name of an operator that takes every host name as absolute, with or without its last dot.
func absoluteHost(text string) string {
	if text == "" || name.IsAbsolute(text) {
		return text
	}
	return text + "."
}

// setData puts values into a RecordSpec, in the field for their number.
func setData(spec *v1alpha1.RecordSpec, values []string) {
	if len(values) == 1 {
		spec.RData = values[0]
		return
	}
	spec.Values = values
}

// readSeconds reads a TTL of a custom resource, nil if it has none.
func (s *specReader) readSeconds(field string) *int32 {
	n := s.readInteger(0, 1<<31-1, field)
	if n == nil {
		return nil
	}
	ttl := int32(*n)
	return &ttl
}
