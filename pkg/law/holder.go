// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
)

func (h *Holders) clone() *Holders {
	if h == nil {
		return &Holders{}
	}
	out := *h
	out.List = slices.Clone(h.List)
	return &out
}

// Holder is the namespace that holds the base name, "" for none.
func (h *Holders) Holder() string {
	if h == nil || len(h.List) == 0 {
		return ""
	}
	return h.List[0].Namespace
}

// namespaces lists the namespaces with records at the base name that may hold it, first comer first.
func (h *Holders) namespaces() (out []string) {
	if h == nil {
		return nil
	}
	for _, x := range h.List {
		out = append(out, x.Namespace)
	}
	return out
}

// addRecord counts one more record of a namespace that came at n: its place in the
// list is that of its oldest record (S4.6).
func (h *Holders) addRecord(namespace string, n uint64, late bool) {
	if i := slices.IndexFunc(h.List, func(x Holder) bool { return x.Namespace == namespace }); i >= 0 {
		h.List[i].Count++
		h.List[i].First = min(h.List[i].First, n)
	} else {
		h.List = append(h.List, Holder{Namespace: namespace, Count: 1, First: n, Late: late})
	}
	slices.SortStableFunc(h.List, func(x, y Holder) int { return cmp.Compare(x.First, y.First) })
}

func (h *Holders) removeRecord(namespace string) {
	i := slices.IndexFunc(h.List, func(x Holder) bool { return x.Namespace == namespace })
	if i < 0 {
		return
	}
	if h.List[i].Count--; h.List[i].Count == 0 {
		h.List = slices.Delete(h.List, i, i+1)
	}
}

func holdersFact(h *Holders) any {
	if h == nil || len(h.List) == 0 {
		return nil
	}
	return h
}

// WithWork is the holding with the mark of a cascade (S7.2); the same holding
// when id is empty or marked already. by is the namespace that caused it.
func (h *Holding) WithWork(id, zoneNamespace, by, losing string, losingFQDN name.Name, now int64) *Holding {
	if id == "" || slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.ID == id }) {
		return h
	}
	out := *h
	own := by == zoneNamespace
	switch first := !slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.Own }); {
	case own && first:
		out.Unsettled, out.Overdue = now, false
	case len(h.Works) == 0:
		out.Unsettled, out.Overdue = now, h.isWaived(now)
	}
	out.Works = append(slices.Clone(h.Works), StandingWork{ID: id, Losing: losing, LosingFQDN: losingFQDN, Since: now, By: by, Own: own})
	return &out
}

// maxRemovals bounds the cascades of one namespace's removed zones that stand against the
// zone that gains their names: each is a mark in its holding, which each removal and each
// end of a cascade writes anew.
const maxRemovals = 16

// maxEnds bounds these cascades together with those of its zones that end. It is higher than maxRemovals, so that a
// namespace, which can always remove more zones, cannot keep its zones from ending (S3.4).
const maxEnds = 2 * maxRemovals

// countGained counts the marks of cascades that a namespace caused and that bring records from a zone which lost them.
// Those of zones that were made bring none here.
func (h *Holding) countGained(by string) (n int) {
	for _, w := range h.Works {
		if w.By == by && w.Losing != "" {
			n++
		}
	}
	return n
}

// WithoutWork is the holding after the cascade is through.
func (h *Holding) WithoutWork(id string) *Holding {
	out := *h
	out.Works = slices.DeleteFunc(slices.Clone(h.Works), func(w StandingWork) bool { return w.ID == id })
	if len(out.Works) == 0 {
		out.Works = nil
	}
	return &out
}

// heldElsewhere lists the namespaces that hold base name at in the zones that a standing cascade brings records from,
// and on the way from there. The holder comes first, and ns comes before others of those on the way (S2.7). known
// false: facts are needed.
func (r *reading) heldElsewhere(h *Holding, view string, at name.Name, ns string) (namespaces []string, known bool) {
	if !h.isGaining() {
		return nil, true
	}
	coming := Key{Kind: KindArriving, View: view, Name: at}
	ks := []Key{coming}
	for _, w := range h.Works {
		if rel, ok := at.Rel(w.LosingFQDN); w.Losing != "" && ok {
			ks = append(ks, HoldersKey(w.Losing, rel))
		}
	}
	if !r.askAll(ks) { // in one round
		return nil, false
	}
	for _, k := range ks[1:] {
		from, _ := getUnguarded[Holders](r, k)
		namespaces = append(namespaces, from.namespaces()...)
	}
	there := len(namespaces)
	c, _ := get[Arriving](r, coming)
	for _, a := range c.holdingArrivals() {
		rel, ok := a.FQDN.Rel(at)
		switch {
		case !ok || !Base(rel).IsApex(): // it holds a name below
		case a.Namespace == ns:
			namespaces = slices.Insert(namespaces, there, ns)
		default:
			namespaces = append(namespaces, a.Namespace)
		}
	}
	return namespaces, true
}

// sharedElsewhere reports whether records that never hold stand at a base name that none holds, in a zone that a
// standing cascade brings records from, or on the way from there (S2.7). It returns false where one of them is of the
// claimant. known false: facts are needed.
func (r *reading) sharedElsewhere(z *Zone, holding *Holding, base name.Rel, by claimant) (shared, known bool) {
	at, err := base.In(z.FQDN())
	if err != nil || by.cascade || by.from == at || !holding.isGaining() {
		return false, true
	}
	coming, ks := Key{Kind: KindArriving, View: z.View, Name: at}, holding.losingOwnerKeys(z, base)
	if !r.askAll(append(ks, coming)) {
		return false, false
	}
	for _, k := range ks {
		o, _ := getUnguarded[Owner](r, k)
		shared = shared || o != nil && len(o.Values) > 0
	}
	if c, _ := get[Arriving](r, coming); c != nil {
		for _, a := range c.Records {
			if a.FQDN == at && a.Namespace == by.namespace {
				return false, true
			}
			shared = shared || a.FQDN == at
		}
	}
	return shared, true
}

// bringsForeign reports whether a standing cascade brings records of another
// namespace than ns to n or below it (S2.7, S3.6). known false: facts are needed.
func (r *reading) bringsForeign(h *Holding, view string, n name.Name, ns string) (foreign, known bool) {
	gaining := false
	var from []Key
	for _, w := range h.Works {
		if w.Losing == "" {
			continue
		}
		gaining = true
		if at, ok := n.Rel(w.LosingFQDN); ok {
			from = append(from, Key{Kind: KindTenantsBelow, Zone: w.Losing, Owner: at})
		} else if n.Encloses(w.LosingFQDN) {
			from = append(from, Key{Kind: KindTenantsBelow, Zone: w.Losing, Owner: name.Apex})
		}
	}
	if !r.askAll(from) { // in one round
		return false, false
	}
	for _, k := range from {
		tenants, _ := get[TenantsBelow](r, k)
		foreign = foreign || blocksCut(tenants, ns)
	}
	if gaining {
		coming, known := get[Arriving](r, Key{Kind: KindArriving, View: view, Name: n})
		if !known {
			return false, false
		}
		foreign = foreign || coming != nil && slices.ContainsFunc(coming.Records, func(a Arrival) bool { return a.Namespace != ns && a.Left != AdmittedUnderscore })
	}
	return foreign, true
}

// blocksCut reports whether a namespace other than ns has records there that may
// not be cut off: all but those admitted by a literal underscore (S3.6).
func blocksCut(t *TenantsBelow, ns string) bool {
	return t != nil && slices.ContainsFunc(t.Tenants, func(t Tenant) bool { return t.Namespace != ns && t.Blocking > 0 })
}
