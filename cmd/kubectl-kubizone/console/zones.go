// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	maxZones = 500
	maxDepth = 5
)

type zonesPage struct {
	Name, Namespace, Class, Reason, Sign string

	Namespaces, Classes, Reasons []string
	Rows                         []*zoneRow
	Found, All                   int
	Lacks                        []*lack

	part name.Part // Name
}

// listZones calls each for all zones in the namespaces of -n. Namespaces that cannot be read are lacks. With err, there
// is nothing to show.
func (r *reading) listZones(ctx context.Context, each func(*v1alpha1.Zone)) (lacks []*lack, err error) {
	unread, read := r.status.ReadZones(ctx, each)
	for _, one := range unread {
		lacks = append(lacks, lackOf(one.Err, one.Verb, "zones", one.Namespace))
	}
	if !read {
		return nil, lacks[len(lacks)-1]
	}
	return lacks, nil
}

func loadZones(r *reading, request *http.Request) (any, error) {
	asked := request.URL.Query()
	page := &zonesPage{Name: asked.Get("name"), Namespace: asked.Get("namespace"), Class: asked.Get("class"), Reason: asked.Get("reason"),
		Sign: asked.Get("sign"), part: name.ParsePart(asked.Get("name"))}
	var rows []*zoneRow
	lacks, err := r.listZones(request.Context(), func(zone *v1alpha1.Zone) { rows = append(rows, zoneRowOf(zone)) })
	if err != nil {
		return nil, err
	}
	page.Lacks = lacks
	r.addDefaultClasses(request.Context(), rows, page)
	namespaces, classes, reasons := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		namespaces[row.Namespace] = true
		for _, name := range row.Classes {
			classes[name] = true
		}
		// Current zones have reasons too, and those are no use as a filter.
		if row.State.Kind != "ok" {
			reasons[row.Reason] = true
		}
	}
	page.Namespaces, page.Classes, page.Reasons = sortedKeys(namespaces), sortedKeys(classes), sortedKeys(reasons)
	found := slices.DeleteFunc(slices.Clone(rows), func(row *zoneRow) bool { return !page.has(row) })
	// Cut in the order of the forest, so that no zone appears without its parent.
	page.Rows, page.Found, page.All = forestOf(found), len(found), len(rows)
	page.Rows = page.Rows[:min(len(page.Rows), maxZones)]
	return page, nil
}

// addDefaultClasses adds the default classes in force to the rows of zones that name no class.
func (r *reading) addDefaultClasses(ctx context.Context, rows []*zoneRow, page *zonesPage) {
	list, err := r.api.DNSClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		page.Lacks = append(page.Lacks, lackOf(err, "list", "dnsclasses", ""))
		return
	}
	for i := range list.Items {
		of := &list.Items[i]
		if !class.IsDefault(of) {
			continue
		}
		for _, row := range rows {
			// The labels of the namespace are not read, so a class that selects by labels may be missing.
			if !row.named && class.Delivers(of, row.View) && class.Admits(of, row.Namespace, nil) {
				row.Classes = append(row.Classes, of.Name)
			}
		}
	}
}

func (p *zonesPage) has(row *zoneRow) bool {
	return (p.part.In(row.FQDN) || strings.Contains(row.Name, strings.TrimSpace(p.Name))) &&
		(p.Namespace == "" || row.Namespace == p.Namespace) &&
		(p.Class == "" || slices.Contains(row.Classes, p.Class)) &&
		(p.Reason == "" || row.Reason == p.Reason && row.State.Kind != "ok") &&
		(p.Sign == "" || row.State.Word == p.Sign || slices.ContainsFunc(row.Signs, func(of state) bool { return of.Word == p.Sign }))
}

func (p *zonesPage) Signs() []string {
	return []string{"current", "not current", "stalled", "held", "no class", "paused", "withdrawn", "signed"}
}

func (p *zonesPage) Hidden() int { return p.Found - len(p.Rows) }

// forestOf sorts rows by name, each child below its parent, and sets Depth. A child whose parent is not among the rows
// is at the top.
func forestOf(rows []*zoneRow) []*zoneRow {
	present, below := map[string]bool{}, map[string][]*zoneRow{}
	for _, row := range rows {
		present[row.key] = true
	}
	for _, row := range rows {
		above := row.parent
		// A filter may have removed the parent, or the user may not read its namespace.
		if !present[above] || above == row.key {
			above = ""
		}
		below[above] = append(below[above], row)
	}
	out := make([]*zoneRow, 0, len(rows))
	var add func(key string, depth int)
	add = func(key string, depth int) {
		level := below[key]
		delete(below, key) // each level is added only once
		slices.SortFunc(level, orderZones)
		for _, row := range level {
			row.Depth = min(depth, maxDepth)
			out = append(out, row)
			add(row.key, depth+1)
		}
	}
	// A cycle of parents, should two zones name each other, is never reached from the top and is left out.
	add("", 0)
	return out
}

func zonesSources(r *reading, _ *http.Request) (all []source) {
	for _, namespace := range r.scope() {
		all = append(all, source{"zones", namespace, nil})
	}
	return append(all, source{resource: "dnsclasses"})
}
