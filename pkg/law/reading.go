// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import "kubi.zone/kubizone/pkg/dns/name"

// reading collects the facts that a decision asks for and does not know.
type reading struct {
	seen  *Seen
	needs []Key
}

// beginReading begins a decision: nothing is used yet.
func beginReading(seen *Seen) reading {
	for i := range seen.facts {
		seen.facts[i].used = false
	}
	return reading{seen: seen}
}

// get returns the fact of a key, nil when there is nothing; false: not known yet.
func get[T any](r *reading, k Key) (*T, bool) {
	f := r.seen.lookUp(k)
	if f == nil {
		r.needs = append(r.needs, k)
		return nil, false
	}
	f.used = true
	t, _ := f.value.(*T)
	return t, true
}

// askAll asks for several facts at once, so that they are fetched in one trip.
func (r *reading) askAll(keys []Key) bool {
	known := true
	for _, k := range keys {
		if r.seen.lookUp(k) == nil {
			if r.needs == nil {
				r.needs = make([]Key, 0, len(keys))
			}
			r.needs = append(r.needs, k)
			known = false
		}
	}
	return known
}

// outcome returns the result of the decision. While facts are needed it is a Need.
func (r *reading) outcome(plan *Plan, refusal *Refusal) Outcome {
	if len(r.needs) > 0 {
		return Outcome{Need: r.needs}
	}
	if refusal != nil {
		return Outcome{Refusal: refusal}
	}
	return Outcome{Plan: plan}
}

// readAnew makes the caller read every fact again at one moment.
func (r *reading) readAnew() {
	for k := range r.seen.All() {
		r.needs = append(r.needs, k)
	}
}

// holdingOf returns the holding of a zone that stands. false: facts are needed.
func (r *reading) holdingOf(z *Zone) (*Holding, bool) {
	h, ok := get[Holding](r, HoldingKey(z.View, z.FQDN()))
	if ok && (h == nil || h.UID != z.UID) { // the name and the object are of two moments
		r.readAnew()
		return nil, false
	}
	return h, ok
}

// zoneOf returns the zone with a holding. false: facts are needed.
func (r *reading) zoneOf(h *Holding) (*Zone, bool) {
	z, ok := get[Zone](r, ZoneKey(h.Namespace, h.Name))
	if ok && (z == nil || z.UID != h.UID || z.Pending) { // the name and the object are of two moments
		r.readAnew()
		return nil, false
	}
	return z, ok
}

// standingAt returns the zone of a place and its holding, nil where that zone is gone or pending. false: facts are
// needed.
func (r *reading) standingAt(p Place) (*Zone, *Holding, bool) {
	z, ok := get[Zone](r, ZoneKey(p.Namespace, p.Name))
	if !ok || z == nil || z.UID != p.UID || z.Pending {
		return nil, nil, ok
	}
	h, ok := r.holdingOf(z)
	return z, h, ok
}

// findEnclosing finds the longest name at or above n that a zone of the view holds (S2.1). false: facts are needed.
func (r *reading) findEnclosing(view string, n name.Name) (name.Name, *Holding, bool) {
	ks := make([]Key, 0, n.NumLabels()+1)
	for at, ok := n, true; ok; at, ok = at.Parent() {
		ks = append(ks, HoldingKey(view, at))
	}
	if !r.askAll(ks) {
		return name.Name{}, nil, false
	}
	for _, k := range ks {
		if h, _ := get[Holding](r, k); h != nil {
			return k.Name, h, true
		}
	}
	return name.Name{}, nil, true
}
