// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

type zonePage struct {
	Tab  string
	Zone *v1alpha1.Zone
	Row  *zoneRow
	Base string

	Entries  *entriesPart
	History  *historyPart
	Delivery *deliveryPart
	Rules    *rulesPart
	DNSSEC   *dnssecPart
}

func (p *zonePage) Tabs() []struct{ Tab, Text string } {
	return []struct{ Tab, Text string }{{"", "Entries"}, {"history", "History"}, {"delivery", "Delivery"}, {"rules", "Rules"},
		{"dnssec", "DNSSEC"}}
}

func (p *zonePage) Path(tab string) string {
	return p.Base + "/zones/" + p.Zone.Namespace + "/" + p.Zone.Name + strings.TrimSuffix("/"+tab, "/")
}

func (p *zonePage) Unmet() (wrong []metav1.Condition) {
	for _, one := range p.Zone.Status.Conditions {
		if one.Status != metav1.ConditionTrue && one.Type != v1alpha1.ConditionStalled {
			wrong = append(wrong, one)
		}
	}
	return wrong
}

// Commands returns the kubectl commands that show the same as the tab.
func (p *zonePage) Commands() []string {
	at := p.Zone.Namespace + "/" + p.Zone.Name
	switch p.Tab {
	case "":
		return []string{command("kubectl", "kubizone", "export", at)}
	case "history":
		return p.History.commands(at)
	case "delivery":
		return []string{command("kubectl", "kubizone", "verify", at)}
	case "rules":
		return []string{command("kubectl", "get", "zone", "-n", p.Zone.Namespace, p.Zone.Name, "-o", "yaml")}
	}
	return nil
}

// loadZone returns the function that loads the page of a zone with a tab. It reads the Zone, and only the objects of
// this tab.
func loadZone(tab string) func(*reading, *http.Request) (any, error) {
	return func(r *reading, request *http.Request) (any, error) {
		namespace, name := request.PathValue("namespace"), request.PathValue("name")
		zone, err := r.api.Zones(namespace).Get(request.Context(), name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			// The user may get Zones in this namespace, so the absence is no secret (C5).
			return nil, fmt.Errorf("zone %s/%s: %w", namespace, name, errAbsent)
		case err != nil:
			return nil, lackOf(err, "get", "zones", namespace)
		}
		p := &zonePage{Tab: tab, Zone: zone, Row: zoneRowOf(zone), Base: r.base}
		tabs[tab](request.Context(), r, p, request.URL.Query())
		return p, nil
	}
}

// zoneSources returns the function that lists the sources of a zone's page: the Zone itself, and the zone's objects of
// further resources in the namespace.
func zoneSources(further ...string) func(*reading, *http.Request) []source {
	return func(_ *reading, request *http.Request) []source {
		namespace, name := request.PathValue("namespace"), request.PathValue("name")
		// By name, so that a user with rights to this Zone alone can follow it.
		all := []source{{"zones", namespace, fields.OneTermEqualSelector("metadata.name", name)}}
		for _, resource := range further {
			field := map[string]string{"deliveries": v1alpha1.FieldDeliveryZoneName,
				"delegations": v1alpha1.FieldDelegationZoneRefName}[resource]
			all = append(all, source{resource, namespace, fields.OneTermEqualSelector(field, name)})
		}
		return all
	}
}

type entriesPart struct {
	Search, Type string
	Serial       int64
	Entries      []v1alpha1.Entry
	Sources      bool
	Next         string
	// Searching is true if the search ended early and continues at Next.
	Searching bool
	Lack      *lack
}

// fillEntries reads a page of the zone's entries, filtered by the search and type of the query.
func fillEntries(ctx context.Context, r *reading, p *zonePage, asked url.Values) {
	part := &entriesPart{Search: asked.Get("search"), Type: asked.Get("type")}
	p.Entries = part
	// Pending: the zone is stored and was never served, so the server has no entries for it.
	if p.Zone.Status.Serial == 0 {
		return
	}
	list, sourced, err := r.readSourced(ctx, types.NamespacedName{Namespace: p.Zone.Namespace, Name: p.Zone.Name}, pageEntries,
		map[string]string{"search": part.Search, "type": part.Type, "continue": asked.Get("continue")})
	part.Sources = sourced
	if err != nil {
		part.Lack = lackOf(err, "get", "zones/entries", p.Zone.Namespace)
		return
	}
	part.Entries, part.Serial = list.Entries, list.Serial
	if list.Metadata.Continue != "" {
		// The server has ended a long search early, with fewer entries than a page has.
		part.Searching = len(list.Entries) < pageEntries
		part.Next = p.Path("") + "?" + url.Values{"search": {part.Search}, "type": {part.Type},
			"continue": {list.Metadata.Continue}}.Encode()
	}
}

var tabs = map[string]func(ctx context.Context, r *reading, p *zonePage, asked url.Values){
	"": fillEntries,
	"history": func(ctx context.Context, r *reading, p *zonePage, asked url.Values) {
		p.History = readHistory(ctx, r, p.Zone, asked)
	},
	"delivery": func(ctx context.Context, r *reading, p *zonePage, _ url.Values) {
		p.Delivery = readDelivery(ctx, r, p.Zone)
	},
	"rules": func(ctx context.Context, r *reading, p *zonePage, _ url.Values) { p.Rules = readRules(ctx, r, p.Zone) },
	"dnssec": func(ctx context.Context, r *reading, p *zonePage, _ url.Values) {
		p.DNSSEC = readDNSSEC(ctx, r, p.Zone)
	},
}
