// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

func newTree() *cobra.Command {
	q := newQuestion()
	return q.makeCommand(&cobra.Command{
		Use:   "tree [ZONE]",
		Short: "show the tree of zones, with their Records and Delegations",
		Long: `Show the zones, each below the zone that delegates it, with how many Records each namespace has in it, and its Delegations.
With ZONE, the name of a zone: that one and what stands below it. All namespaces are shown where you may list the objects in all of
them, else that of -n; zones that Records or zones of it belong to stand there by their objects alone. The exit code is 1 where there
is no zone.`,
		Example:           "  kubectl kubizone tree example.org",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: q.complete(listZones),
	}, false, func(ctx context.Context, s *find.Search, arguments []string) (*answer, error) {
		t := &tree{Search: *s}
		if err := t.readObjects(ctx); err != nil {
			return nil, err
		}
		return t.showZones(strings.Join(arguments, ""))
	})
}

type node struct {
	zone      *v1alpha1.Zone // nil: unreadable
	records   map[string]int // by namespace
	rules     []*v1alpha1.Delegation
	children  []types.NamespacedName
	hasParent bool
}

type tree struct {
	find.Search
	zones     map[types.NamespacedName]*node
	unadopted map[string]int // numbers of Records, by namespace
}

func (t *tree) nodeOf(namespace, name string) *node {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if t.zones[key] == nil {
		t.zones[key] = &node{records: map[string]int{}}
	}
	return t.zones[key]
}

// readObjects reads zones, Delegations and Records, of all namespaces or as far as the user may list. A parent or zone
// that is not read gets a node without a Zone.
func (t *tree) readObjects(ctx context.Context) error {
	t.zones, t.unadopted = map[types.NamespacedName]*node{}, map[string]int{}
	s := &t.Search
	err := find.Each(ctx, s, "zones", func(in string) find.Lister[*v1alpha1.ZoneList] { return t.API.Zones(in).List }, metav1.ListOptions{},
		func(z *v1alpha1.Zone) error {
			at := t.nodeOf(z.Namespace, z.Name)
			at.zone = z
			if above := z.Status.ParentRef; above != nil {
				at.hasParent = true
				parent := t.nodeOf(above.Namespace, above.Name)
				parent.children = append(parent.children, types.NamespacedName{Namespace: z.Namespace, Name: z.Name})
			}
			return nil
		})
	if err == nil {
		err = find.Each(ctx, s, "delegations", func(in string) find.Lister[*v1alpha1.DelegationList] { return t.API.Delegations(in).List },
			metav1.ListOptions{}, func(d *v1alpha1.Delegation) error {
				at := t.nodeOf(d.Namespace, d.Spec.ZoneRef.Name)
				at.rules = append(at.rules, d)
				return nil
			})
	}
	if err == nil {
		err = s.EachRecord(ctx, metav1.ListOptions{}, func(r *v1alpha1.Record) error {
			if in := r.Status.ZoneRef; in != nil {
				t.nodeOf(in.Namespace, in.Name).records[r.Namespace]++
			} else {
				// A Record in no zone: waiting, or without a rule.
				t.unadopted[r.Namespace]++
			}
			return nil
		})
	}
	return err
}

func (n *node) title() string {
	switch {
	case n.zone == nil:
		return "(not shown)"
	case n.zone.Status.View != "":
		return n.zone.Status.FQDN + " (view " + n.zone.Status.View + ")"
	}
	return cmp.Or(n.zone.Status.FQDN, n.zone.Spec.DomainName)
}

type zoneTree struct {
	Query string       `json:"query,omitempty"`
	Zones []*shownZone `json:"zones"`
	// WithoutZone are the Records of no zone, by namespace.
	WithoutZone map[string]int `json:"withoutZone,omitempty"`
	// Namespace is the only searched namespace, or "".
	Namespace string `json:"namespace,omitempty"`
}

type shownZone struct {
	// FQDN is "" if the user may not read the Zone.
	FQDN        string            `json:"fqdn,omitempty"`
	View        string            `json:"view,omitempty"`
	Object      string            `json:"object"`
	Serial      int64             `json:"serial,omitempty"`
	Ready       string            `json:"ready,omitempty"`
	Records     map[string]int    `json:"records,omitempty"`
	Delegations []shownDelegation `json:"delegations,omitempty"`
	Zones       []*shownZone      `json:"zones,omitempty"`

	title string
}

type shownDelegation struct {
	Object     string   `json:"object"`
	Namespaces []string `json:"namespaces"`
	Records    int64    `json:"records"`
	Ready      string   `json:"ready"`
}

// showZones answers with the zones of a name as a person types it, or with all zones for "".
func (t *tree) showZones(query string) (*answer, error) {
	var fqdn name.Name
	if query != "" {
		var err error
		if fqdn, err = name.ParseTyped(query); err != nil {
			return nil, err
		}
	}
	var tops []types.NamespacedName
	for key, n := range t.zones {
		// Without a query, the roots: a zone whose parent may not be read is below a node "(not shown)".
		isTop := !n.hasParent
		if query != "" {
			isTop = n.zone != nil && n.zone.Status.FQDN == fqdn.String()
		}
		if isTop {
			tops = append(tops, key)
		}
	}
	result := &zoneTree{Query: query, Zones: t.showLevel(tops)}
	if query == "" {
		result.WithoutZone = t.unadopted
	}
	if !t.Everywhere {
		result.Namespace = t.Namespace
	}
	isNo, where := len(tops) == 0 && len(result.WithoutZone) == 0, t.Where()
	return &answer{kind: "ZoneTree", result: result, no: noIf(isNo), text: func(page *output.Text) {
		if isNo {
			page.Line("No zone %s.", strings.TrimSpace(query+" "+where))
			return
		}
		result.printText(page)
	}}, nil
}

// showLevel returns the zones of the keys, sorted by name, with all zones below them.
func (t *tree) showLevel(keys []types.NamespacedName) []*shownZone {
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(t.zones[a].title(), t.zones[b].title()), cmp.Compare(a.String(), b.String()))
	})
	all := []*shownZone{}
	for _, key := range keys {
		n := t.zones[key]
		shown := &shownZone{Object: key.String(), Records: n.records, Zones: t.showLevel(n.children), title: n.title()}
		if n.zone != nil {
			status := &n.zone.Status
			shown.FQDN, shown.View, shown.Serial, shown.Ready = status.FQDN, status.View, status.Serial, readyOf(status.Conditions)
		}
		for _, d := range n.rules {
			shown.Delegations = append(shown.Delegations, shownDelegation{d.Namespace + "/" + d.Name, d.Spec.Namespaces,
				int64(d.Status.Records), readyOf(d.Status.Conditions)})
		}
		all = append(all, shown)
	}
	return all
}

// printText prints a row for each zone and Delegation, indented by the level.
func (z *zoneTree) printText(text *output.Text) {
	header := []string{"ZONE", "OBJECT", "RECORDS", "READY"}
	if text.IsWide() {
		header = append(header, "SERIAL")
	}
	var rows [][]string
	var addLevel func(zones []*shownZone, indent string)
	addLevel = func(zones []*shownZone, indent string) {
		for _, zone := range zones {
			row := []string{indent + zone.title, zone.Object, countRecords(zone.Records), zone.Ready}
			if text.IsWide() {
				row = append(row, fmt.Sprint(zone.Serial))
			}
			rows = append(rows, row)
			for _, d := range zone.Delegations {
				rows = append(rows, []string{indent + "  Delegation to " + strings.Join(d.Namespaces, ","), d.Object, fmt.Sprint(d.Records),
					d.Ready})
			}
			addLevel(zone.Zones, indent+"  ")
		}
	}
	addLevel(z.Zones, "")
	if len(z.WithoutZone) > 0 {
		rows = append(rows, []string{"(no zone yet)", "", countRecords(z.WithoutZone)})
	}
	text.Table(header, rows)
	if z.Namespace != "" {
		text.Line("")
		text.Line("Shown is what namespace %s has: the right to list zones, delegations and records in all namespaces shows all.",
			z.Namespace)
	}
}

// countRecords returns the namespaces with the most Records and their numbers, such as "team-a 12, team-b 3".
func countRecords(of map[string]int) string {
	// The namespace with the most Records first, then by name.
	namespaces := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], cmp.Compare(a, b)) })
	var counts []string
	for i, namespace := range namespaces {
		if i == maxCounted {
			counts = append(counts, "and "+terminal.Count(len(namespaces)-i, "more namespace"))
			break
		}
		counts = append(counts, fmt.Sprintf("%s %d", namespace, of[namespace]))
	}
	return cmp.Or(strings.Join(counts, ", "), "0")
}
