// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import "kubi.zone/kubizone/pkg/dns/name"

// reading gives a decision its facts. The decision stops at the first that it lacks, since all that follows rests on it:
// get panics with lacking, and decide makes a Need of that. No other code stops so or catches it.
type reading struct {
	seen  *Seen
	needs []Key
}

// lacking is what a decision panics with that needs facts, which are in needs.
type lacking struct{}

// decide carries out a decision. Nothing is used of what is seen before.
func decide(seen *Seen, by func(*reading) (*Plan, *Refusal)) (out Outcome) {
	for i := range seen.facts {
		seen.facts[i].used = false
	}
	r := reading{seen: seen}
	defer func() {
		if len(r.needs) == 0 {
			return // a panic that is none of ours goes on
		}
		if p := recover(); p == (lacking{}) {
			out = Outcome{Need: r.needs}
		} else {
			panic(p)
		}
	}()
	plan, refusal := by(&r)
	if refusal != nil {
		return Outcome{Refusal: refusal}
	}
	return Outcome{Plan: plan}
}

// get returns the fact of a key, nil when there is nothing.
func get[T any](r *reading, k Key) *T {
	f := r.seen.lookUp(k)
	if f == nil {
		r.needs = append(r.needs, k)
		panic(lacking{})
	}
	f.used = true
	t, _ := f.value.(*T)
	return t
}

// askAll asks for several facts at once, so that they are fetched in one trip.
func (r *reading) askAll(keys []Key) {
	for i, k := range keys {
		if r.seen.lookUp(k) == nil {
			if r.needs == nil {
				r.needs = make([]Key, 0, len(keys)-i)
			}
			r.needs = append(r.needs, k)
		}
	}
	if len(r.needs) > 0 {
		panic(lacking{})
	}
}

// readAnew has the caller read every fact again at one moment.
func (r *reading) readAnew() {
	for k := range r.seen.All() {
		r.needs = append(r.needs, k)
	}
	panic(lacking{})
}

// holdingOf returns the holding of a zone that stands.
func (r *reading) holdingOf(z *Zone) *Holding {
	h := get[Holding](r, HoldingKey(z.View, z.FQDN()))
	if h == nil || h.UID != z.UID { // the name and the object are of two moments
		r.readAnew()
	}
	return h
}

// zoneOf returns the zone with a holding.
func (r *reading) zoneOf(h *Holding) *Zone {
	z := get[Zone](r, ZoneKey(h.Namespace, h.Name))
	if z == nil || z.UID != h.UID || z.Pending { // the name and the object are of two moments
		r.readAnew()
	}
	return z
}

// standingAt returns the zone of a place and its holding, nil where that zone is gone or pending.
func (r *reading) standingAt(p Place) (*Zone, *Holding) {
	z := get[Zone](r, ZoneKey(p.Namespace, p.Name))
	if z == nil || z.UID != p.UID || z.Pending {
		return nil, nil
	}
	return z, r.holdingOf(z)
}

// findEnclosing finds the longest name at or above n that a zone of the view holds (S2.1).
func (r *reading) findEnclosing(view string, n name.Name) (name.Name, *Holding) {
	ks := make([]Key, 0, n.NumLabels()+1)
	for at, ok := n, true; ok; at, ok = at.Parent() {
		ks = append(ks, HoldingKey(view, at))
	}
	r.askAll(ks)
	for _, k := range ks {
		if h := get[Holding](r, k); h != nil {
			return k.Name, h
		}
	}
	return name.Name{}, nil
}
