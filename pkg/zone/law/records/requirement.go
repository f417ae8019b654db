// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/claims"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// Requirement is a condition for committing a change set: the state of an RRset before the set, as in RFC 2136 §2.4.
type Requirement struct {
	Name name.Name
	Type rdata.Type
	// Exists is false if the RRset must be absent.
	Exists bool
	// Values are all values that an existing RRset must have, with names in any spelling. Nil allows any values.
	Values []rdata.Value
}

func fieldOfRequirement(index int) string { return fmt.Sprintf("spec.prerequisites[%d]", index) }

// DecideRequirements checks the prerequisites of a change set in a zone. It returns a Forbidden refusal if the
// namespace may not write the name of a prerequisite, or else Unmet for the first prerequisite that is not met.
func DecideRequirements(seen *law.Facts, zone law.Ref, namespace string, requirements []Requirement) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		z := law.Get[law.Zone](r, law.ZoneKey(zone.Namespace, zone.Name))
		isGone := z == nil || z.UID != zone.UID || z.Pending
		if isGone {
			return nil, law.NewForbidden(law.ReasonZoneNotFound, "the zone of the prerequisites is gone (S10.5; try again)")
		}
		if !r.ZoneVisibleTo(z, namespace) {
			return nil, law.NewForbidden(law.ReasonZoneNotFound, "%s", law.AbsentMessage(&zone, namespace))
		}

		ruled := r.WithRulesFor(z, namespace)
		keys := requireOwners(r, z, requirements)

		// Check all rights first, so that no answer reveals others' data.
		for i := range requirements {
			fqdn := requirements[i].Name
			_, inZone := fqdn.Rel(z.FQDN())
			mayCheck := inZone && mayWrite(r, ruled, keys[i].Owner, fqdn, namespace)
			if !mayCheck {
				return nil, law.NewForbidden(law.ReasonNotDelegated, "%s: %s is no name of zone %s that namespace %q may write, and a "+
					"prerequisite may check no other (S10.5; choose another name, or ask the owner of the zone for a rule)",
					fieldOfRequirement(i), fqdn, z.FQDN(), namespace)
			}
		}

		for i := range requirements {
			if !requirements[i].isMet(z, keys[i].Owner, law.Get[law.Owner](r, keys[i])) {
				return nil, &law.Refusal{Kind: law.Unmet, Field: fieldOfRequirement(i), Reason: law.ReasonPrerequisite, Rule: "S10.5",
					Message: fmt.Sprintf("%s is not as required (S10.5); read the zone and decide again", requirements[i].Name)}
			}
		}

		return &law.Plan{}, nil
	})
}

// requireOwners returns the key of each requirement's name, and reads these names and all above.
func requireOwners(r *law.Reading, z *law.Zone, requirements []Requirement) (keys []law.Key) {
	var needed []law.Key
	for i := range requirements {
		owner, inZone := requirements[i].Name.Rel(z.FQDN())
		keys = append(keys, law.OwnerKey(z.UID, owner))
		for up, ok := owner, inZone; ok; up, ok = up.Parent() {
			needed = append(needed, law.OwnerKey(z.UID, up))
		}
	}
	r.RequireAll(needed)
	return keys
}

// mayWrite reports whether S4 lets the namespace write a record of some type at the name. For example, "*" does not at
// _vault.www while the zone's own namespace has data there, although www is free (S4.14), unless the namespace has an
// earlier Record at _vault.www, whose values it may change.
func mayWrite(r *law.Reading, z *law.Zone, owner name.Rel, fqdn name.Name, namespace string) bool {
	if namespace == z.Namespace {
		return true
	}
	set, base := z.RuleSet(), rules.Base(owner)
	if len(set.FindGrants(fqdn, 0, namespace)) == 0 {
		return false
	}

	c := claims.Claimant{Reading: r, Zone: z, Holding: r.HoldingOf(z), Namespace: namespace,
		OwnerAt: func(n name.Rel) *law.Owner { return law.Get[law.Owner](r, law.OwnerKey(z.UID, n)) }}
	bar := c.FindBar(base)
	set = set.WithMinTail(bar.MinTail)
	for _, g := range set.FindGrants(fqdn, 0, namespace) {
		c.Admission, c.Rule, c.Literal = set.KindOf(&g, owner, namespace), nil, g.Literal
		switch c.Admission {
		case "":
			continue
		case rules.AdmittedUnderscore: // passes all claims (S4.14)
			return true
		case rules.AdmittedShared:
			c.Rule = g.Rule
		}
		if c.RefuseClaim(owner, base) == nil && (c.RefuseOwnData(owner) == nil || hasRecordAt(r, z, owner, namespace)) {
			return true
		}
	}

	return false
}

func hasRecordAt(r *law.Reading, z *law.Zone, owner name.Rel, namespace string) bool {
	all := law.Get[law.Foreign](r, law.ForeignAtKey(z.UID, owner, ""))
	return all != nil && slices.Contains(all.Namespaces, namespace)
}

// isMet reports whether the data at owner are as required: of Records, child zones, spec.nameServers, and the SOA. o
// may be nil.
func (q *Requirement) isMet(z *law.Zone, owner name.Rel, o *law.Owner) bool {
	there := map[law.Digest]bool{}
	exists := false
	note := func(t rdata.Type, d law.Digest) {
		// Type 0 asks for any data, as YXDOMAIN does (RFC 2136 §2.4.4).
		if q.Type == 0 || q.Type == t {
			exists, there[d] = true, true
		}
	}

	if o != nil {
		for _, v := range slices.Concat(o.Values, o.Cut) {
			note(v.Type, v.Digest)
		}
	}

	for _, set := range z.NSSetsAt(owner) {
		for _, data := range set.Data {
			note(set.Type, law.DigestOf(data))
		}
	}

	if owner.IsApex() {
		note(rdata.SOA, law.Digest{})
	}
	if exists != q.Exists || q.Values == nil {
		return exists == q.Exists
	}

	// The RRset must have all values, and no other (RFC 2136 §2.4.2).
	for _, v := range q.Values {
		spellings, err := v.Spellings(z.FQDN())
		met := false
		for _, text := range spellings {
			// mail and mail.example.org. are the same data, stored as they were written.
			d := law.DigestOf(text)
			met = met || there[d]
			delete(there, d)
		}
		if err != nil || !met { // a value too long for the zone is absent
			return false
		}
	}

	return len(there) == 0
}
