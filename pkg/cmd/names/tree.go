// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/terminal"
)

const maxCounted = 5

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
	}, false, func(ctx context.Context, s *search, arguments []string, out io.Writer) error {
		t := &tree{search: *s}
		if err := t.readObjects(ctx); err != nil {
			return err
		}
		return t.printZones(strings.Join(arguments, ""), out)
	})
}

type node struct {
	zone    *v1alpha1.Zone // nil: unreadable
	records map[string]int // by namespace
	rules   []*v1alpha1.Delegation
	below   []types.NamespacedName
	within  bool // it has a parent
}

type tree struct {
	search
	zones map[types.NamespacedName]*node
	loose map[string]int // Records without a zone, by namespace
}

func (t *tree) nodeOf(namespace, name string) *node {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if t.zones[key] == nil {
		t.zones[key] = &node{records: map[string]int{}}
	}
	return t.zones[key]
}

func (t *tree) readObjects(ctx context.Context) error {
	t.zones, t.loose = map[types.NamespacedName]*node{}, map[string]int{}
	s := &t.search
	err := eachAllowed(ctx, s, "zones", func(in string) lister[*v1alpha1.ZoneList] { return t.api.Zones(in).List }, metav1.ListOptions{},
		func(z *v1alpha1.Zone) error {
			at := t.nodeOf(z.Namespace, z.Name)
			at.zone = z
			if above := z.Status.ParentRef; above != nil {
				at.within = true
				parent := t.nodeOf(above.Namespace, above.Name)
				parent.below = append(parent.below, types.NamespacedName{Namespace: z.Namespace, Name: z.Name})
			}
			return nil
		})
	if err == nil {
		err = eachAllowed(ctx, s, "delegations", func(in string) lister[*v1alpha1.DelegationList] { return t.api.Delegations(in).List },
			metav1.ListOptions{}, func(d *v1alpha1.Delegation) error {
				at := t.nodeOf(d.Namespace, d.Spec.ZoneRef.Name)
				at.rules = append(at.rules, d)
				return nil
			})
	}
	if err == nil {
		err = s.eachRecord(ctx, metav1.ListOptions{}, func(r *v1alpha1.Record) error {
			if in := r.Status.ZoneRef; in != nil {
				t.nodeOf(in.Namespace, in.Name).records[r.Namespace]++
			} else {
				t.loose[r.Namespace]++
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

func (t *tree) printZones(of string, out io.Writer) error {
	var tops []types.NamespacedName
	for key, n := range t.zones {
		isOf := n.zone != nil && strings.EqualFold(n.zone.Status.FQDN, strings.TrimSuffix(of, ".")+".")
		if of == "" && !n.within || of != "" && isOf {
			tops = append(tops, key)
		}
	}
	if len(tops) == 0 && (of != "" || len(t.loose) == 0) {
		if _, err := terminal.Fprintf(out, "No zone %s.\n", strings.TrimSpace(of+" "+t.where())); err != nil {
			return err
		}
		return ErrNo
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	terminal.Fprintf(table, "ZONE\tOBJECT\tRECORDS\tREADY\n")
	t.printLevel(tops, "", table)
	if of == "" && len(t.loose) > 0 {
		terminal.Fprintf(table, "(no zone yet)\t\t%s\t\n", countRecords(t.loose))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !t.everywhere {
		_, err := terminal.Fprintf(out, "\nShown is what namespace %s has: the right to list zones, delegations and records in all "+
			"namespaces shows all.\n", t.namespace)
		return err
	}
	return nil
}

func (t *tree) printLevel(keys []types.NamespacedName, indent string, out io.Writer) {
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(t.zones[a].title(), t.zones[b].title()), cmp.Compare(a.String(), b.String()))
	})
	for _, key := range keys {
		n := t.zones[key]
		ready := ""
		if n.zone != nil {
			ready = readyOf(n.zone.Status.Conditions)
		}
		terminal.Fprintf(out, "%s%s\t%s\t%s\t%s\n", indent, n.title(), key, countRecords(n.records), ready)
		for _, d := range n.rules {
			terminal.Fprintf(out, "%s  Delegation to %s\t%s/%s\t%d\t%s\n", indent, strings.Join(d.Spec.Namespaces, ","), d.Namespace,
				d.Name, d.Status.Records, readyOf(d.Status.Conditions))
		}
		t.printLevel(n.below, indent+"  ", out)
	}
}

func readyOf(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); c != nil {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
}

func countRecords(of map[string]int) string {
	namespaces := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], cmp.Compare(a, b)) })
	var counts []string
	for i, namespace := range namespaces {
		if i == maxCounted {
			counts = append(counts, fmt.Sprintf("and %d more namespaces", len(namespaces)-i))
			break
		}
		counts = append(counts, fmt.Sprintf("%s %d", namespace, of[namespace]))
	}
	return cmp.Or(strings.Join(counts, ", "), "0")
}
