// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/objectname"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const (
	FieldManager = v1alpha1.ExternalDNSFieldManager
	heritage     = "heritage=external-dns"
)

type Mapping struct {
	// Owner is the value of the label kubi.zone/external-dns, different for each external-dns in a cluster.
	Owner string
	// Cluster is the name of this cluster if the Records are in a central Kubizone for several clusters. If empty, they
	// are in the cluster and namespace of their objects.
	Cluster string
	// Template is the template of a Record's namespace at a central Kubizone, for example "{cluster}-{namespace}".
	Template string
	// Default is the namespace for endpoints whose object has no namespace, such as a Node. If empty, such endpoints
	// are refused.
	Default string
}

func (m Mapping) MakeRecord(e *contract.Endpoint) (*v1alpha1.Record, error) {
	key, err := e.Key()
	if err != nil {
		return nil, err
	}
	for _, fault := range []struct {
		found bool
		err   error
	}{
		{e.SetIdentifier != "", fmt.Errorf("setIdentifier %q: a name has one RRset of a type here, without routing policies; "+
			"remove the annotation set-identifier", e.SetIdentifier)},
		{len(e.Targets) == 0, errors.New("targets: there are none")},
		{e.RecordTTL < 0 || e.RecordTTL > rdata.MaxTTL, fmt.Errorf("recordTTL %d: it is from 0 to %d seconds (RFC 2181)", e.RecordTTL,
			rdata.MaxTTL)},
		{slices.ContainsFunc(e.Targets, isHeritage), fmt.Errorf("targets: %q: only external-dns' registry says so", heritage)},
	} {
		if fault.found {
			return nil, fault.err
		}
	}
	for _, property := range e.ProviderSpecific {
		if property.Name != "record-type" && (property.Name != "alias" || property.Value != "false") {
			return nil, fmt.Errorf("providerSpecific %q: it is of another provider, and has no form here; remove the annotation",
				property.Name)
		}
	}
	owner, _ := key.Name.Rel(name.Root)
	r := &v1alpha1.Record{
		ObjectMeta: metav1.ObjectMeta{
			Name:        objectname.OfExternal(owner, key.Type, m.Owner),
			Labels:      map[string]string{v1alpha1.LabelExternalDNS: m.Owner},
			Annotations: map[string]string{v1alpha1.AnnotationExternalDNSResource: e.Labels[contract.LabelResource]},
		},
		Spec: v1alpha1.RecordSpec{DomainName: key.Name.String(), Type: key.Type.String(), Values: makeValues(key.Type, e.Targets)},
	}
	if m.Cluster != "" {
		r.Labels[v1alpha1.LabelCluster] = m.Cluster
	}
	if e.RecordTTL > 0 {
		r.Spec.TTL = new(int32(e.RecordTTL))
	}
	return r, nil
}

func makeValues(t rdata.Type, targets []string) (values []string) {
	for _, target := range targets {
		values = append(values, makeValue(t, target))
	}
	slices.Sort(values)
	return slices.Compact(values)
}

func makeValue(t rdata.Type, target string) string {
	if t == rdata.A || t == rdata.AAAA {
		if address, err := netip.ParseAddr(target); err == nil {
			return address.String()
		}
	}
	return rdata.Absolute(t, target)
}

func isHeritage(target string) bool { return strings.HasPrefix(strings.Trim(target, `" `), heritage) }

// IsOwned reports whether a Record has this owner's labels, and fields set by FieldManager.
func (m Mapping) IsOwned(r *v1alpha1.Record) bool {
	return r.Labels[v1alpha1.LabelExternalDNS] == m.Owner && r.Labels[v1alpha1.LabelCluster] == m.Cluster &&
		slices.ContainsFunc(r.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == FieldManager && entry.Subresource == ""
		})
}

// Existing has the owner's Record of each RRset. Of several, the adopted Record counts, or else the oldest.
type Existing map[contract.Key]*v1alpha1.Record

func (m Mapping) ReadExisting(records []v1alpha1.Record) Existing {
	existing := Existing{}
	for i := range records {
		r := &records[i]
		fqdn, err := name.Parse(r.Spec.DomainName)
		t, wrong := rdata.ParseType(r.Spec.Type)
		if err != nil || wrong != nil || !m.IsOwned(r) || r.DeletionTimestamp != nil {
			continue
		}
		// Records of external-dns are in the default view. With a Record in another view, a tenant would end the Record
		// of another namespace here.
		if cmp.Or(r.Spec.View, r.Status.View) != "" {
			continue
		}
		key := contract.Key{Name: fqdn, Type: t}
		if other := existing[key]; other == nil || compareRanks(r, other) < 0 {
			existing[key] = r
		}
	}
	return existing
}

// isAdopted reports whether a zone has the Record. A tenant may create a Record before the zone, and must not block
// other namespaces.
func isAdopted(r *v1alpha1.Record) bool { return r.Status.ZoneRef != nil }

func compareRanks(a, b *v1alpha1.Record) int {
	switch {
	case isAdopted(a) && !isAdopted(b):
		return -1
	case isAdopted(b) && !isAdopted(a):
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func (s Existing) atName(fqdn name.Name) (all []*v1alpha1.Record) {
	for _, t := range contract.Types {
		if r := s[contract.Key{Name: fqdn, Type: t}]; r != nil {
			all = append(all, r)
		}
	}
	return all
}

// Endpoints returns an endpoint for each RRset, and the endpoints of the TXT registry.
func (s Existing) Endpoints() []*contract.Endpoint {
	endpoints, texts := make([]*contract.Endpoint, 0, len(s)), map[string]string{}
	for _, r := range s {
		if e := ReadEndpoint(r); !slices.ContainsFunc(e.Targets, isHeritage) {
			endpoints = append(endpoints, e)
		}
		maps.Copy(texts, readTexts(r))
	}
	for at, text := range texts {
		endpoints = append(endpoints, &contract.Endpoint{DNSName: at, RecordType: "TXT", Targets: []string{text}})
	}
	slices.SortFunc(endpoints, func(a, b *contract.Endpoint) int {
		return cmp.Or(cmp.Compare(a.DNSName, b.DNSName), cmp.Compare(a.RecordType, b.RecordType))
	})
	return endpoints
}

// readTexts returns only registry texts, because a tenant's edit must not give external-dns another tenant's endpoint.
func readTexts(r *v1alpha1.Record) map[string]string {
	var texts map[string]string
	if json.Unmarshal([]byte(r.Annotations[v1alpha1.AnnotationExternalDNSTexts]), &texts) != nil {
		return nil // external-dns writes it again
	}
	maps.DeleteFunc(texts, func(_, text string) bool { return !isHeritage(text) })
	return texts
}

// KeepTexts adds the registry texts of the name to the candidate's Record: the existing texts, and newTexts. Each
// Record of a name has all texts, because external-dns does not write known texts again.
func (s Existing) KeepTexts(c *Candidate, newTexts map[string]string) {
	texts := map[string]string{}
	for _, r := range s.atName(c.Name) {
		maps.Copy(texts, readTexts(r))
	}
	maps.Copy(texts, newTexts)
	if len(texts) > 0 {
		text, _ := json.Marshal(texts) // cannot fail
		c.Record.Annotations[v1alpha1.AnnotationExternalDNSTexts] = string(text)
	}
}

// SplitTexts separates the TXT endpoints of external-dns's registry from the other endpoints. It returns the targets of
// the TXT endpoints by owned name and TXT name. Encrypted texts are an error, because a tenant's text looks the same.
func SplitTexts(endpoints []*contract.Endpoint) (others []*contract.Endpoint, texts map[name.Name]map[string]string, err error) {
	texts = map[name.Name]map[string]string{}
	for _, e := range endpoints {
		owned := e.OwnedName()
		if owned.IsZero() {
			others = append(others, e)
			continue
		}
		if !isHeritage(e.Targets[0]) {
			err = fmt.Errorf("%s TXT: a text of external-dns' registry begins with %s here; leave out --txt-encrypt-enabled, or use "+
				"--registry=noop", e.DNSName, heritage)
			continue
		}
		if texts[owned] == nil {
			texts[owned] = map[string]string{}
		}
		texts[owned][e.DNSName] = e.Targets[0]
	}
	return others, texts, err
}

func ReadEndpoint(r *v1alpha1.Record) *contract.Endpoint {
	e := &contract.Endpoint{DNSName: strings.TrimSuffix(r.Spec.DomainName, "."), RecordType: strings.ToUpper(r.Spec.Type),
		Labels: map[string]string{contract.LabelResource: r.Annotations[v1alpha1.AnnotationExternalDNSResource]}}
	t, _ := rdata.ParseType(r.Spec.Type) // validated by the server
	for _, value := range valuesOf(r) {
		e.Targets = append(e.Targets, contract.FormatTarget(t, value))
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

func matches(r, wanted *v1alpha1.Record) bool {
	if wanted.Spec.TTL != nil && (r.Spec.TTL == nil || *r.Spec.TTL != *wanted.Spec.TTL) {
		return false
	}
	values := slices.Sorted(slices.Values(valuesOf(r)))
	return slices.EqualFunc(values, wanted.Spec.Values, strings.EqualFold)
}

type Resource struct{ Kind, Namespace, Name string }

func (r Resource) String() string { return r.Kind + "/" + r.Namespace + "/" + r.Name }

// ReadResource returns the object of an endpoint, or false if the endpoint's label names no namespaced object.
func ReadResource(e *contract.Endpoint) (r Resource, ok bool) {
	return parseResource(e.Labels[contract.LabelResource])
}

func parseResource(text string) (r Resource, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return Resource{}, false
	}
	return Resource{parts[0], parts[1], parts[2]}, true
}

// ResourceOf returns the object of a Record, from an annotation, which tenants can edit. If Records of the named object
// would be in another namespace, ok is false.
func (m Mapping) ResourceOf(r *v1alpha1.Record) (resource Resource, ok bool) {
	resource, ok = parseResource(r.Annotations[v1alpha1.AnnotationExternalDNSResource])
	namespace, err := m.NamespaceOf(resource.Namespace)
	if !ok || err != nil || namespace != r.Namespace {
		return Resource{}, false
	}
	return resource, true
}

func (m Mapping) NamespaceOf(local string) (string, error) {
	if m.Cluster == "" {
		return local, nil
	}
	mapped := strings.NewReplacer("{cluster}", m.Cluster, "{namespace}", local).Replace(m.Template)
	if len(mapped) > 63 {
		return "", fmt.Errorf("namespace %q has %d characters, and may have 63: the Records of namespace %q need a shorter "+
			"--namespace-template", mapped, len(mapped), local)
	}
	return mapped, nil
}
