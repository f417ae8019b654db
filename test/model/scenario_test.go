// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// scenario is what led to a failure, for people: what was asked and what came of it, cut down to the objects that it is
// about, the zones that they were in, and what else was there.
func scenario(asked []answered, h history, about []string) string {
	keep := map[string]bool{}
	for _, o := range about {
		keep[o] = true
	}
	for _, c := range h {
		if c.record == nil || !keep[c.object] {
			continue
		}
		if ref := c.record.Status.ZoneRef; ref != nil {
			keep[ref.Namespace+"/"+ref.Name] = true
		}
		if ref := c.record.Spec.ZoneRef; ref != nil {
			keep[ref.Namespace+"/"+ref.Name] = true
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "seed %d\n\nasked:\n", *seed)
	for _, a := range asked {
		fields := strings.Fields(a.what)
		if len(about) == 0 || keep[fields[2]] {
			fmt.Fprintln(&out, a)
		}
	}
	fmt.Fprintf(&out, "\ncommitted:\n")
	var kept history
	for _, c := range h {
		if len(about) == 0 || keep[c.object] {
			kept = append(kept, c)
			fmt.Fprintln(&out, c)
		}
	}
	fmt.Fprintf(&out, "\nas a scenario for pkg/law/testdata (go test ./pkg/law -run TestScenarios -rewrite, or with -scenarios FILE where it lies):\n\n%s", replay(kept))
	return out.String()
}

// replay is what was asked for, in the order in which it was committed, as the scenarios of the law are written. What
// cascades did is left out: "settle" does it.
func replay(h history) string {
	var out strings.Builder
	generation := map[string]int64{}
	for _, c := range h {
		kind, refers := "record", (*v1alpha1.ZoneReference)(nil)
		var o metav1.Object = c.record
		view := ""
		if c.zone != nil {
			kind, o, refers, view = "zone", c.zone, c.zone.Spec.ZoneRef, c.zone.Spec.View
		} else {
			refers, view = c.record.Spec.ZoneRef, c.record.Spec.View
		}
		if key := kind + " " + c.object; c.gone {
			fmt.Fprintf(&out, "delete %s\n----\n\nsettle\n----\n\n", key)
			delete(generation, key)
			continue
		} else if generation[key] == o.GetGeneration() {
			continue
		} else {
			generation[key] = o.GetGeneration()
			out.WriteString(key)
		}
		if kind == "zone" {
			out.WriteString(" establish")
		}
		if refers != nil {
			fmt.Fprintf(&out, " ref=%s/%s", cmp.Or(refers.Namespace, o.GetNamespace()), refers.Name)
		}
		if view != "" {
			fmt.Fprintf(&out, " view=%s", view)
		}
		out.WriteByte('\n')
		if kind == "record" {
			ttl := ""
			if t := c.record.Spec.TTL; t != nil {
				ttl = fmt.Sprintf(" %d", *t)
			}
			for _, value := range append(c.record.Spec.Values, c.record.Spec.RData) {
				if value != "" {
					fmt.Fprintf(&out, "%s%s %s %s\n", c.record.Spec.DomainName, ttl, c.record.Spec.Type, value)
				}
			}
		} else {
			fmt.Fprintln(&out, c.zone.Spec.DomainName)
			for _, ns := range c.zone.Spec.NameServers {
				fmt.Fprintln(&out, strings.TrimSpace("ns "+ns.Name+" "+strings.Join(ns.Addresses, " ")))
			}
			for _, d := range c.zone.Spec.Delegations {
				to := ""
				if len(d.Namespaces) > 0 {
					to = " to " + strings.Join(d.Namespaces, " ")
				}
				if len(d.Zones) > 0 {
					fmt.Fprintf(&out, "zones %s%s\n", strings.Join(d.Zones, ","), to)
				}
				for _, r := range d.Records {
					types := ""
					if len(r.Types) > 0 {
						types = " types=" + strings.Join(r.Types, ",")
					}
					fmt.Fprintf(&out, "allow %s%s%s\n", r.Pattern, types, to)
				}
			}
		}
		out.WriteString("----\n\nsettle\n----\n\n")
	}
	return out.String()
}
