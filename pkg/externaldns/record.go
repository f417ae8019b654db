// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/objectname"
)

// FieldManager is that of the Records.
const FieldManager = "kubizone-external-dns"

// Mapping says how endpoints and Records correspond.
type Mapping struct {
	// Owner is the value of LabelExternalDNS: a DNS label.
	Owner string
	// Cluster is the name of this cluster at a central Kubizone; empty: Records are in the cluster of the objects.
	Cluster string
	// Template has {cluster} and {namespace}: the namespace of Records. Empty: that of the object.
	Template string
	// Default is the namespace of endpoints that come from no object of a namespace. Empty: they are refused.
	Default string
}

// MakeRecord makes the Record of an endpoint, or says why it has none.
func (m Mapping) MakeRecord(e *Endpoint) (*v1alpha1.Record, error) {
	key, err := e.Key()
	if err != nil {
		return nil, err
	}
	t, err := rdata.ParseType(key.Type)
	if err != nil {
		return nil, fmt.Errorf("recordType %q: %w", e.RecordType, err)
	}
	switch {
	case e.SetIdentifier != "":
		return nil, fmt.Errorf("setIdentifier %q: a name has one RRset of a type here, without routing policies; "+
			"remove the annotation set-identifier", e.SetIdentifier)
	case len(e.Targets) == 0:
		return nil, errors.New("targets: there are none")
	case e.RecordTTL < 0 || e.RecordTTL > math.MaxInt32:
		return nil, fmt.Errorf("recordTTL %d: it is from 0 to %d seconds (RFC 2181)", e.RecordTTL, math.MaxInt32)
	}
	for _, property := range e.ProviderSpecific {
		if property.Name != "record-type" && (property.Name != "alias" || property.Value != "false") {
			return nil, fmt.Errorf("providerSpecific %q: it is of another provider, and has no form here; remove the annotation",
				property.Name)
		}
	}
	values := make([]string, 0, len(e.Targets))
	for _, target := range e.Targets {
		if isHeritage(target) {
			return nil, fmt.Errorf("targets: %q: only external-dns' registry says so", heritage)
		}
		values = append(values, makeValue(key.Type, target))
	}
	slices.Sort(values)
	owner, _ := name.MustParse(key.Name).Rel(name.Root)
	r := &v1alpha1.Record{
		ObjectMeta: metav1.ObjectMeta{
			Name:        objectname.OfExternal(owner, t, m.Owner),
			Labels:      map[string]string{v1alpha1.LabelExternalDNS: m.Owner},
			Annotations: map[string]string{v1alpha1.AnnotationExternalDNSResource: e.Labels[labelResource]},
		},
		Spec: v1alpha1.RecordSpec{DomainName: key.Name, Type: key.Type, Values: slices.Compact(values)},
	}
	if m.Cluster != "" {
		r.Labels[v1alpha1.LabelCluster] = m.Cluster
	}
	if e.RecordTTL > 0 {
		r.Spec.TTL = new(int32(e.RecordTTL))
	}
	return r, nil
}

// hostTypes are those whose data ends in a name, which external-dns writes without the trailing dot.
var hostTypes = []string{"CNAME", "PTR", "NS", "DNAME", "MX"}

// makeValue is the data of a target. Data of other types external-dns has in the form of a Record.
func makeValue(kind, target string) string {
	if kind == "A" || kind == "AAAA" {
		if address, err := netip.ParseAddr(target); err == nil {
			return address.String()
		}
	}
	if slices.Contains(hostTypes, kind) && target != "" && !strings.HasSuffix(target, ".") {
		return target + "."
	}
	return target
}

func isHeritage(target string) bool { return strings.HasPrefix(strings.Trim(target, `" `), heritage) }

// IsOurs says whether a Record is this owner's: by the label, and by the field manager that no other client has.
func (m Mapping) IsOurs(r *v1alpha1.Record) bool {
	return r.Labels[v1alpha1.LabelExternalDNS] == m.Owner && r.Labels[v1alpha1.LabelCluster] == m.Cluster &&
		slices.ContainsFunc(r.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == FieldManager && entry.Subresource == ""
		})
}

// Standing are the Records that are ours, by RRset, the oldest first.
type Standing map[Key][]*v1alpha1.Record

// ReadStanding picks them.
func (m Mapping) ReadStanding(records []v1alpha1.Record) Standing {
	standing := Standing{}
	for i := range records {
		r := &records[i]
		fqdn, err := name.Parse(r.Spec.DomainName)
		if err != nil || !m.IsOurs(r) || r.DeletionTimestamp != nil {
			continue
		}
		key := Key{fqdn.String(), strings.ToUpper(r.Spec.Type)}
		standing[key] = append(standing[key], r)
	}
	for _, same := range standing {
		slices.SortFunc(same, func(a, b *v1alpha1.Record) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace),
				cmp.Compare(a.Name, b.Name))
		})
	}
	return standing
}

// Endpoints are what external-dns is told of them: one of each RRset, and what its TXT registry has written beside.
func (s Standing) Endpoints() []*Endpoint {
	endpoints, texts := make([]*Endpoint, 0, len(s)), map[string]string{}
	for _, same := range s {
		if e := ReadEndpoint(same[0]); !slices.ContainsFunc(e.Targets, isHeritage) {
			endpoints = append(endpoints, e)
		}
		maps.Copy(texts, ReadTexts(same[0]))
	}
	for at, text := range texts {
		endpoints = append(endpoints, &Endpoint{DNSName: at, RecordType: "TXT", Targets: []string{text}})
	}
	slices.SortFunc(endpoints, func(a, b *Endpoint) int {
		return cmp.Or(cmp.Compare(a.DNSName, b.DNSName), cmp.Compare(a.RecordType, b.RecordType))
	})
	return endpoints
}

// ReadTexts are the TXT endpoints of external-dns' registry that a Record keeps, as targets by name: they are data of
// external-dns, and not published.
func ReadTexts(r *v1alpha1.Record) map[string]string {
	var texts map[string]string
	if json.Unmarshal([]byte(r.Annotations[v1alpha1.AnnotationExternalDNSTexts]), &texts) != nil {
		return nil // it is edited, or was never there: external-dns writes it anew
	}
	return texts
}

// ReadEndpoint is the endpoint of a Record.
func ReadEndpoint(r *v1alpha1.Record) *Endpoint {
	kind := strings.ToUpper(r.Spec.Type)
	e := &Endpoint{DNSName: strings.TrimSuffix(r.Spec.DomainName, "."), RecordType: kind,
		Labels: map[string]string{labelResource: r.Annotations[v1alpha1.AnnotationExternalDNSResource]}}
	for _, value := range valuesOf(r) {
		if slices.Contains(hostTypes, kind) {
			value = strings.TrimSuffix(value, ".")
		}
		e.Targets = append(e.Targets, value)
	}
	if r.Spec.TTL != nil {
		e.RecordTTL = int64(*r.Spec.TTL)
	}
	return e
}

func valuesOf(r *v1alpha1.Record) []string {
	if r.Spec.RData != "" {
		return []string{r.Spec.RData}
	}
	return r.Spec.Values
}

// standsAs says whether a Record has what is wanted, as external-dns compares: without a wanted TTL any is right.
func standsAs(r, wanted *v1alpha1.Record) bool {
	if wanted.Spec.TTL != nil && (r.Spec.TTL == nil || *r.Spec.TTL != *wanted.Spec.TTL) {
		return false
	}
	values := slices.Sorted(slices.Values(valuesOf(r)))
	return slices.EqualFunc(values, wanted.Spec.Values, strings.EqualFold)
}

// Resource is the object that an endpoint comes from.
type Resource struct{ Kind, Namespace, Name string }

// String is as external-dns writes it.
func (r Resource) String() string { return r.Kind + "/" + r.Namespace + "/" + r.Name }

// ReadResource reads the label of an endpoint. ok is false where it names no object of a namespace.
func ReadResource(text string) (r Resource, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return Resource{}, false
	}
	return Resource{parts[0], parts[1], parts[2]}, true
}

// NamespaceOf is the namespace of Records for objects of a namespace.
func (m Mapping) NamespaceOf(local string) (string, error) {
	if m.Template == "" {
		return local, nil
	}
	mapped := strings.NewReplacer("{cluster}", m.Cluster, "{namespace}", local).Replace(m.Template)
	if len(mapped) > 63 {
		return "", fmt.Errorf("namespace %q has %d characters, and may have 63: the Records of namespace %q need a shorter "+
			"--namespace-template", mapped, len(mapped), local)
	}
	return mapped, nil
}
