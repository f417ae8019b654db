// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Reading gives a decision access to facts, the stored values. If a fact has not been read yet, Get panics with
// missingFacts, and Decide recovers.
type Reading struct {
	facts   *Facts
	missing []Key
}

type missingFacts struct{}

// Decide runs a decision with the facts seen so far, and marks the facts that it reads. If facts are missing, the
// outcome lists their keys in Need: the caller loads them, and calls Decide again.
func Decide(seen *Facts, decide func(*Reading) (*Plan, *Refusal)) (out Outcome) {
	for i := range seen.facts {
		seen.facts[i].used = false
	}
	r := Reading{facts: seen}
	defer func() {
		// missing is set only before panic(missingFacts{}), so no other panic is recovered.
		if len(r.missing) > 0 {
			_ = recover()
			out = Outcome{Need: r.missing}
		}
	}()
	plan, refusal := decide(&r)
	if refusal != nil {
		return Outcome{Refusal: refusal}
	}
	return Outcome{Plan: plan}
}

// Get returns a fact, or nil if the store has no value.
func Get[T any](r *Reading, k Key) *T {
	f := r.facts.lookUp(k)
	if f == nil {
		r.missing = append(r.missing, k)
		panic(missingFacts{})
	}
	f.used = true
	t, _ := f.value.(*T)
	return t
}

// RequireAll ends the decision if some keys have not been read, and lists them in Need.
func (r *Reading) RequireAll(keys []Key) {
	for i, k := range keys {
		if r.facts.lookUp(k) == nil {
			if r.missing == nil {
				r.missing = make([]Key, 0, len(keys)-i)
			}
			r.missing = append(r.missing, k)
		}
	}
	if len(r.missing) > 0 {
		panic(missingFacts{})
	}
}

// Reread ends the decision with all keys in Need, because the facts are of two revisions.
func (r *Reading) Reread() {
	for k := range r.facts.All() {
		r.missing = append(r.missing, k)
	}
	panic(missingFacts{})
}

func (r *Reading) HoldingOf(z *Zone) *Holding {
	h := Get[Holding](r, HoldingKey(z.View, z.FQDN()))
	if h == nil || h.UID != z.UID {
		r.Reread()
	}
	return h
}

func (r *Reading) ZoneOf(h *Holding) *Zone {
	z := Get[Zone](r, ZoneKey(h.Namespace, h.Name))
	if z == nil || z.UID != h.UID || z.Pending {
		r.Reread()
	}
	return z
}

// ZoneAt returns the zone at p and its holding, or nil if the zone is gone or pending.
func (r *Reading) ZoneAt(p Place) (*Zone, *Holding) {
	z := Get[Zone](r, ZoneKey(p.Namespace, p.Name))
	if z == nil || z.UID != p.UID || z.Pending {
		return nil, nil
	}
	return z, r.HoldingOf(z)
}

// FindEnclosing returns the longest zone name at or above n in a view, and this zone's Holding (stored state). Without
// such a zone, both are zero.
func (r *Reading) FindEnclosing(view string, n name.Name) (name.Name, *Holding) {
	keys := make([]Key, 0, n.NumLabels()+1)
	for ancestor, ok := n, true; ok; ancestor, ok = ancestor.Parent() {
		keys = append(keys, HoldingKey(view, ancestor))
	}

	// Read all names in a single round.
	r.RequireAll(keys)
	for _, key := range keys {
		if holding := Get[Holding](r, key); holding != nil {
			return key.Name, holding
		}
	}
	return name.Name{}, nil
}

func (r *Reading) WithRulesFor(z *Zone, namespace string) *Zone {
	return r.WithRulesExcept(z, namespace, "")
}

// WithRulesExcept is like WithRulesFor, without the rules of one Delegation.
func (r *Reading) WithRulesExcept(z *Zone, namespace, delegation string) *Zone {
	if z == nil || z.Pending {
		return z
	}
	h := r.HoldingOf(z)
	// Most zones have no Delegations, and need no further read.
	if h.Delegations == 0 {
		return z
	}
	f := Get[NamespaceRules](r, RulesKey(z.UID, namespace))
	if f == nil {
		return z
	}
	list := f.List
	if delegation != "" {
		list = slices.DeleteFunc(slices.Clone(list), func(x DelegatedRule) bool { return x.Name == delegation })
	}
	return z.WithDelegated(list)
}

func (r *Reading) ZoneVisibleTo(z *Zone, namespace string) bool {
	return z.visibleTo(namespace) || r.WithRulesFor(z, namespace).visibleTo(namespace)
}

// NameContact adds the contact of z, as returned by WithRulesFor, to a Forbidden refusal if the namespace may know of
// z.
func (z *Zone) NameContact(refusal *Refusal, namespace string) *Refusal {
	if refusal.Kind == Forbidden && namespace != z.Namespace && z.visibleTo(namespace) {
		refusal.Contact = z.Header.Contact
	}
	return refusal
}
