// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/load"
)

// Search has the scope of a search.
type Search struct {
	API client.KubizoneV1alpha1Interface
	// Namespace is searched if the user may not list all namespaces.
	Namespace string
	// Everywhere is false once the server refuses to list all namespaces.
	Everywhere bool
}

// Where describes the scope, as in "No Record ... in all namespaces".
func (s *Search) Where() string {
	if s.Everywhere {
		return "in all namespaces"
	}
	return fmt.Sprintf("in namespace %s, the only one that was searched", s.Namespace)
}

// ParsePrefix parses a prefix, or an address as a prefix.
func ParsePrefix(text string) (netip.Prefix, bool) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked(), true
	}
	address, err := netip.ParseAddr(text)
	return netip.PrefixFrom(address, address.BitLen()), err == nil
}

// ParseName parses a DNS name, absolute also without trailing dot.
func ParseName(text string) (name.Name, error) {
	if !name.IsAbsolute(text) {
		text += "."
	}
	fqdn, err := name.Parse(text)
	if err != nil {
		return fqdn, fmt.Errorf("%q is neither an address, a prefix nor a name: %w", text, err)
	}
	return fqdn, nil
}

// DataOf returns a Record's values.
func DataOf(r *v1alpha1.Record) []string {
	if r.Spec.RData != "" {
		return []string{r.Spec.RData}
	}
	return r.Spec.Values
}

// Nearest returns the Records at a name, or else those at the nearest name above within its zone, and that name. zones
// are the Zones of the first name, from fqdn up, that is a zone's, without those that the user may not list.
func (s *Search) Nearest(ctx context.Context, fqdn name.Name) (found []v1alpha1.Record, nearest string, zones []*v1alpha1.Zone, err error) {
	candidates := []string{fqdn.String()}
	for at, more := fqdn.Parent(); more && at != name.Root; at, more = at.Parent() {
		candidates = append(candidates, "*."+at.String(), at.String())
	}
	for i, candidate := range candidates {
		if len(found) == 0 {
			if found, err = s.At(ctx, candidate); err != nil {
				return nil, "", nil, err
			}
			if len(found) > 0 && i > 0 {
				nearest = candidate
			}
		}
		if strings.HasPrefix(candidate, "*.") {
			continue
		}
		if zones, err = s.zonesAt(ctx, candidate); err != nil || len(zones) > 0 {
			return found, nearest, zones, err
		}
	}
	return found, nearest, nil, nil
}

func (s *Search) zonesAt(ctx context.Context, fqdn string) (zones []*v1alpha1.Zone, err error) {
	of := *s // a missing right to list zones must not narrow the search for Records
	err = Each(ctx, &of, "zones", func(in string) Lister[*v1alpha1.ZoneList] { return s.API.Zones(in).List },
		metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldZoneFQDN, fqdn).String()},
		func(zone *v1alpha1.Zone) error {
			zones = append(zones, zone)
			return nil
		})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	return zones, err
}

// At returns the Records at a canonical name.
func (s *Search) At(ctx context.Context, fqdn string) ([]v1alpha1.Record, error) {
	return s.listRecords(ctx, fields.Set{v1alpha1.FieldRecordFQDN: fqdn}, nil)
}

// Lister is a List method of a client.
type Lister[L runtime.Object] = func(context.Context, metav1.ListOptions) (L, error)

// Each calls do for the objects of all namespaces, or if forbidden, of the user's.
func Each[L, T runtime.Object](ctx context.Context, s *Search, resource string, list func(namespace string) Lister[L],
	options metav1.ListOptions, do func(T) error) (err error) {
	if s.Everywhere {
		err = load.EachItem(ctx, list(metav1.NamespaceAll), options, do)
		s.Everywhere = !apierrors.IsForbidden(err)
	}
	if !s.Everywhere {
		err = load.EachItem(ctx, list(s.Namespace), options, do)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", resource, err)
	}
	return nil
}

// EachRecord calls do for each Record.
func (s *Search) EachRecord(ctx context.Context, options metav1.ListOptions, do func(*v1alpha1.Record) error) error {
	return Each(ctx, s, "records", func(in string) Lister[*v1alpha1.RecordList] { return s.API.Records(in).List }, options, do)
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
