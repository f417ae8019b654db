// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/find"
)

type searchPage struct {
	Search string
	Found  []foundEntry
	// Sources is false if Records of other namespaces are hidden.
	Sources bool
	Next    string
	Lacks   []*lack
}

type foundEntry struct {
	v1alpha1.Entry
	Zone *zoneRow
}

// loadSearch searches the entries of all zones that the user may list, zone after zone. The page ends when it is full
// or after searchTime, and Next has the zone and the position to go on.
func loadSearch(r *reading, request *http.Request) (any, error) {
	asked := request.URL.Query()
	page := &searchPage{Search: strings.TrimSpace(asked.Get("search")), Sources: true}
	if page.Search == "" {
		return page, nil
	}
	var zones []*zoneRow
	lacks, err := r.listZones(request.Context(), func(zone *v1alpha1.Zone) {
		// A zone that was never served has no entries.
		if zone.Status.Serial != 0 {
			zones = append(zones, zoneRowOf(zone))
		}
	})
	if err != nil {
		return nil, err
	}
	page.Lacks = lacks
	slices.SortFunc(zones, orderZones)
	// Continue in the zone at which the page before ended.
	next := ""
	if at := slices.IndexFunc(zones, func(row *zoneRow) bool { return row.key == asked.Get("zone") }); at >= 0 {
		zones, next = zones[at:], asked.Get("continue")
	}
	for began := time.Now(); len(zones) > 0 && len(page.Found) < pageEntries && time.Since(began) < searchTime; {
		if next = page.searchZone(request.Context(), r, zones[0], next); next != "" {
			// The zone has more entries, and the page is full or the time is over.
			break
		}
		zones = zones[1:]
	}
	page.Lacks = uniqueLacks(page.Lacks)
	if len(zones) > 0 {
		page.Next = r.base + "/zones/search?" + url.Values{"search": {page.Search}, "zone": {zones[0].key}, "continue": {next}}.Encode()
	}
	return page, nil
}

// searchZone adds the entries found in a zone, and returns the continue token, "" at the end of the zone or after an
// error.
func (p *searchPage) searchZone(ctx context.Context, r *reading, zone *zoneRow, next string) string {
	list, sourced, err := r.readSourced(ctx, types.NamespacedName{Namespace: zone.Namespace, Name: zone.Name}, pageEntries-len(p.Found),
		map[string]string{"search": p.Search, "continue": next})
	switch {
	case apierrors.IsNotFound(err): // deleted meanwhile
		return ""
	case err != nil:
		p.Lacks = append(p.Lacks, lackOf(err, "get", "zones/entries", zone.Namespace))
		return ""
	}
	p.Sources = p.Sources && sourced
	for i := range list.Entries {
		p.Found = append(p.Found, foundEntry{list.Entries[i], zone})
	}
	return list.Metadata.Continue
}

// Commands returns kubectl kubizone who for a name or a prefix of addresses. Other texts have no command.
func (p *searchPage) Commands() []string {
	_, isPrefix := find.ParsePrefix(p.Search)
	_, err := find.ParseName(p.Search)
	if isName := err == nil && strings.Contains(p.Search, "."); !isPrefix && !isName {
		return nil
	}
	return []string{command("kubectl", "kubizone", "who", p.Search)}
}
