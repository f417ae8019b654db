// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// Search finds Records and Zones by DNS name.
type Search struct {
	API client.KubizoneV1alpha1Interface
	// Namespace is searched if the user may not list all namespaces.
	Namespace string
	// Everywhere is true until the server refuses to list all namespaces.
	Everywhere bool
}

func (s *Search) Where() string {
	if s.Everywhere {
		return "in all namespaces"
	}
	return fmt.Sprintf("in namespace %s, the only one that was searched", s.Namespace)
}

const (
	KindRecord = "Record"
	KindZone   = "Zone"
)

var kinds = map[string]string{"record": KindRecord, "records": KindRecord, "rec": KindRecord, "zone": KindZone, "zones": KindZone,
	"zn": KindZone}

// CutKind splits KIND/NAME. The kind is "" for other text, and for text with a final dot, a DNS name as in RFC 2317.
func CutKind(text string) (kind, object string) {
	before, after, isObject := strings.Cut(text, "/")
	if kind = kinds[before]; kind == "" || !isObject || strings.HasSuffix(text, ".") {
		return "", text
	}
	return kind, after
}

func ParsePrefix(text string) (netip.Prefix, bool) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked(), true
	}
	address, err := netip.ParseAddr(text)
	return netip.PrefixFrom(address, address.BitLen()), err == nil
}

// ParseName parses a DNS name as a person types it (name.ParseTyped). 192.0.2.80-90 and 192.0.2. are errors, because no
// top-level domain is a number.
func ParseName(text string) (name.Name, error) {
	relative := strings.TrimSuffix(text, ".")
	last := relative[strings.LastIndex(relative, ".")+1:]
	if isRoot := text == "."; !isRoot && strings.Trim(last, "0123456789-/*") == "" {
		return name.Name{}, fmt.Errorf("%q is neither an address, a prefix nor a name: write an address, such as 192.0.2.80, or a "+
			"prefix, such as 192.0.2.80/28", text)
	}
	fqdn, err := name.ParseTyped(text)
	if err != nil {
		return fqdn, fmt.Errorf("%q is neither an address, a prefix nor a name: %w", text, err)
	}
	return fqdn, nil
}

func DataOf(r *v1alpha1.Record) []string {
	if r.Spec.RData != "" {
		return []string{r.Spec.RData}
	}
	return r.Spec.Values
}

// Nearest returns the Records at a name. If there are none, it returns the Records at the nearest wildcard or name
// above with a claim (a right to all names below), and that name. The zones are the result of Enclosing.
func (s *Search) Nearest(ctx context.Context, fqdn name.Name, zones []v1alpha1.Zone) (found []v1alpha1.Record, nearest string, err error) {
	found, err = s.RecordsAt(ctx, fqdn.String())
	if err != nil || len(found) > 0 {
		return found, "", err
	}
	apex := name.Root
	if len(zones) > 0 {
		if apex, err = name.Parse(zones[0].Status.FQDN); err != nil {
			return nil, "", err
		}
	}
	claims := func(r *v1alpha1.Record) bool { return mayClaim(r, zones) }
	for ancestor := fqdn; ancestor != apex; {
		ancestor, _ = ancestor.Parent()
		if ancestor == name.Root {
			break
		}
		candidates := []string{"*." + ancestor.String()}
		if ancestor != apex { // the apex itself claims nothing
			candidates = append(candidates, ancestor.String())
		}
		for _, candidate := range candidates {
			found, err = s.listRecords(ctx, fields.Set{v1alpha1.FieldRecordFQDN: candidate}, claims)
			if err != nil || len(found) > 0 {
				return found, candidate, err
			}
		}
	}
	return nil, "", nil
}

func mayClaim(r *v1alpha1.Record, zones []v1alpha1.Zone) bool {
	isAdopted := r.Status.ZoneRef != nil
	if !isAdopted || r.Status.Admission == string(rules.AdmittedUnderscore) {
		return false
	}
	// Only Records of the zones with the longest name claim names.
	return len(zones) == 0 || slices.ContainsFunc(zones, func(z v1alpha1.Zone) bool {
		return z.Status.FQDN == zones[0].Status.FQDN && z.Status.View == r.Status.View
	})
}

func (s *Search) RecordsAt(ctx context.Context, fqdn string) ([]v1alpha1.Record, error) {
	return s.listRecords(ctx, fields.Set{v1alpha1.FieldRecordFQDN: fqdn}, nil)
}

// Enclosing returns the nearest zone of each view at or above a name, the longest names first, then by view. The result
// is nil if the user may not list zones.
func (s *Search) Enclosing(ctx context.Context, fqdn name.Name) (nearest []v1alpha1.Zone, err error) {
	for ancestor, exists := fqdn, true; exists; ancestor, exists = ancestor.Parent() {
		zones, err := s.ZonesAt(ctx, ancestor)
		if apierrors.IsForbidden(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range zones {
			if !slices.ContainsFunc(nearest, func(z v1alpha1.Zone) bool { return z.Status.View == zones[i].Status.View }) {
				nearest = append(nearest, zones[i])
			}
		}
	}
	return nearest, nil
}

func (s *Search) ZonesAt(ctx context.Context, fqdn name.Name) (zones []v1alpha1.Zone, err error) {
	search := *s // rights to list Records may differ
	err = Each(ctx, &search, "zones", func(in string) Lister[*v1alpha1.ZoneList] { return s.API.Zones(in).List }, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldZoneFQDN, fqdn.String()).String()},
		func(z *v1alpha1.Zone) error { zones = append(zones, *z); return nil })
	slices.SortFunc(zones, compareViews)
	return zones, err
}

// ZoneAt returns the zone of a name, or nil. Zones in several views are an error.
func (s *Search) ZoneAt(ctx context.Context, fqdn name.Name) (*v1alpha1.Zone, error) {
	zones, err := s.ZonesAt(ctx, fqdn)
	if err != nil || len(zones) == 0 {
		return nil, err
	}
	if len(zones) == 1 {
		return &zones[0], nil
	}
	var found []string
	for i := range zones {
		found = append(found, fmt.Sprintf("%s/%s (view %q)", zones[i].Namespace, zones[i].Name, zones[i].Status.View))
	}
	return nil, fmt.Errorf("%s is the name of several zones; write the object of one: %s", fqdn, strings.Join(found, ", "))
}

func compareViews(a, b v1alpha1.Zone) int { return cmp.Compare(a.Status.View, b.Status.View) }

type Lister[L runtime.Object] = func(context.Context, metav1.ListOptions) (L, error)

// Each calls visit for the objects of all namespaces or, if the user may not list these, of the user's namespace. A
// refusal clears s.Everywhere.
func Each[L, T runtime.Object](ctx context.Context, s *Search, resource string, list func(namespace string) Lister[L],
	options metav1.ListOptions, visit func(T) error) (err error) {
	if s.Everywhere {
		err = load.EachItem(ctx, list(metav1.NamespaceAll), options, visit)
		s.Everywhere = !apierrors.IsForbidden(err)
	}
	if !s.Everywhere {
		err = load.EachItem(ctx, list(s.Namespace), options, visit)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", resource, err)
	}
	return nil
}

func (s *Search) EachRecord(ctx context.Context, options metav1.ListOptions, visit func(*v1alpha1.Record) error) error {
	return Each(ctx, s, "records", func(in string) Lister[*v1alpha1.RecordList] { return s.API.Records(in).List }, options, visit)
}

func (s *Search) listRecords(ctx context.Context, of fields.Set, keep func(*v1alpha1.Record) bool) (found []v1alpha1.Record, err error) {
	err = s.EachRecord(ctx, metav1.ListOptions{FieldSelector: of.String()}, func(r *v1alpha1.Record) error {
		if keep == nil || keep(r) {
			found = append(found, *r)
		}
		return nil
	})
	return found, err
}
