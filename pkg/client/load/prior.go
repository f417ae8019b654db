// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/dns/name"
)

// prior is a change of a zone that a dry run has shown, but not stored. So the server may refuse a later object, for
// example a Record in a new zone. The dry run then shows this object with the change to write first.
type prior struct {
	object string // such as "Zone NAMESPACE/NAME"
	// isNew is true if the change creates the zone, with this fqdn and view.
	isNew bool
	fqdn  name.Name
	view  string
	// namespaces are those with Records that the change concerns; empty means all.
	namespaces []string
}

type priors struct {
	zones     map[types.NamespacedName][]prior
	removals  map[name.Name]string           // the removal that frees a name
	liveZones map[types.NamespacedName]prior // readable, on the server
}

func (p *priors) add(zone types.NamespacedName, of prior) {
	if p.zones == nil {
		p.zones = make(map[types.NamespacedName][]prior)
	}
	p.zones[zone] = append(p.zones[zone], of)
}

func (p *priors) addNewZone(zone types.NamespacedName, fqdn name.Name, view string) {
	p.add(zone, prior{object: "Zone " + zone.String(), isNew: true, fqdn: fqdn, view: view})
}

func (p *priors) firstFor(zone types.NamespacedName, namespace string) prior {
	for _, of := range p.zones[zone] {
		if len(of.namespaces) == 0 || slices.Contains(of.namespaces, namespace) {
			return of
		}
	}
	return prior{}
}

func (p *priors) findZone(fqdn name.Name, view string) (zone types.NamespacedName) {
	longest := -1
	look := func(id types.NamespacedName, of prior) {
		if !of.fqdn.IsZero() && of.view == view && of.fqdn.Encloses(fqdn) && of.fqdn.NumLabels() > longest {
			zone, longest = id, of.fqdn.NumLabels()
		}
	}
	for id, of := range p.liveZones {
		look(id, of)
	}
	for id, all := range p.zones {
		look(id, all[0])
	}
	return zone
}

func (p *priors) addLeft(o *unstructured.Unstructured) {
	if o.GetKind() == "Record" {
		p.addRemoval(o, "removal of ")
		return
	}
	p.add(zoneIDOf(o), prior{object: "removal of " + titleOf(o), namespaces: namesIn(o)})
}

func (p *priors) addRemoval(record *unstructured.Unstructured, how string) {
	if p.removals == nil {
		p.removals = make(map[name.Name]string)
	}
	fqdn, _, _ := unstructured.NestedString(record.Object, "status", "fqdn")
	if n, err := name.Parse(fqdn); err == nil {
		p.removals[n] = how + titleOf(record)
	}
}

func (p *priors) removalNear(n name.Name, asks *unstructured.Unstructured) string {
	for _, of := range slices.SortedFunc(maps.Keys(p.removals), name.Name.Compare) {
		if !n.IsZero() && p.removals[of] != titleOf(asks) && (of.Encloses(n) || n.Encloses(of)) {
			return p.removals[of]
		}
	}
	return ""
}

func titleOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}
