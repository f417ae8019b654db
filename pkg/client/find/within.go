// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/load"
)

const (
	maxZones    = 500
	atOnce      = 8
	pageEntries = 1000
)

var errManyZones = errors.New("too many zones to search one by one")

// Within returns the Records with an address in a prefix. It reads zones/entries if the user may read all zones and
// there are at most maxZones, and otherwise lists Records.
func (s *Search) Within(ctx context.Context, prefix netip.Prefix) ([]v1alpha1.Record, error) {
	rrtype := "A"
	if prefix.Addr().Is6() {
		rrtype = "AAAA"
	}
	matches := func(r *v1alpha1.Record) bool {
		return strings.EqualFold(r.Spec.Type, rrtype) && slices.ContainsFunc(DataOf(r), func(text string) bool {
			value, err := netip.ParseAddr(text)
			return err == nil && prefix.Contains(value)
		})
	}
	selected := fields.Set{v1alpha1.FieldRecordType: rrtype}
	if s.Everywhere {
		found, err := s.withinZones(ctx, prefix, matches)
		if err == nil {
			selected[v1alpha1.FieldRecordAdopted] = string(metav1.ConditionFalse) // in no zone yet
			waiting, err := s.listRecords(ctx, selected, matches)
			return append(found, waiting...), err
		}
		cannotSearchZones := apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || errors.Is(err, errManyZones)
		if !cannotSearchZones {
			return nil, err
		}
	}
	return s.listRecords(ctx, selected, matches)
}

// withinZones filters the Records by matches, because a server without the parameter search answers with all entries.
func (s *Search) withinZones(ctx context.Context, prefix netip.Prefix, matches func(*v1alpha1.Record) bool) ([]v1alpha1.Record, error) {
	var zones []*v1alpha1.Zone
	err := load.EachItem(ctx, s.API.Zones(metav1.NamespaceAll).List, metav1.ListOptions{}, func(zone *v1alpha1.Zone) error {
		if zone.Status.Serial != 0 {
			zones = append(zones, zone)
		}
		if len(zones) > maxZones {
			return errManyZones
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	named := map[v1alpha1.RecordReference]bool{}
	searching, searchCtx := errgroup.WithContext(ctx)
	searching.SetLimit(atOnce)
	for _, zone := range zones {
		searching.Go(func() error {
			return s.eachEntry(searchCtx, zone, prefix, func(entry *v1alpha1.Entry) {
				mu.Lock()
				defer mu.Unlock()
				for _, ref := range entry.Sources {
					named[ref] = true
				}
			})
		})
	}
	if err := searching.Wait(); err != nil {
		return nil, err
	}
	var found []v1alpha1.Record
	reading, readCtx := errgroup.WithContext(ctx)
	reading.SetLimit(atOnce)
	for ref := range named {
		reading.Go(func() error {
			record, err := s.API.Records(ref.Namespace).Get(readCtx, ref.Name, metav1.GetOptions{})
			if err == nil && matches(record) {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, *record)
			}
			if apierrors.IsNotFound(err) {
				return nil // deleted meanwhile
			}
			return err
		})
	}
	err = reading.Wait()
	slices.SortFunc(found, func(a, b v1alpha1.Record) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found, err
}

func (s *Search) eachEntry(ctx context.Context, zone *v1alpha1.Zone, prefix netip.Prefix, visit func(*v1alpha1.Entry)) error {
	for next := ""; ; {
		request := s.API.RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource("entries").
			Param("search", prefix.String()).Param("sources", "true").Param("limit", strconv.Itoa(pageEntries))
		if next != "" {
			request.Param("continue", next)
		}
		var page v1alpha1.ZoneEntries
		if err := request.Do(ctx).Into(&page); err != nil {
			return err
		}
		for i := range page.Entries {
			visit(&page.Entries[i])
		}
		if next = page.Metadata.Continue; next == "" {
			return nil
		}
	}
}
