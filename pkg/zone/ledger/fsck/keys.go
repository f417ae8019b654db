// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

func isAhead(s, of int64) bool { return serial.Serial(s).Ahead(serial.Serial(of)) }

func (c *check) checkMembers() error {
	return checkRoom(c, "members", "I1", func(z *zone, want func(string, *law.Member)) {
		for _, r := range z.records {
			want(c.layout.Key(law.MemberKey(z.UID, r.owner, r.Namespace, r.Name)), &law.Member{UID: r.UID, Created: r.Created})
		}
	}, func(have, want *law.Member) (Rule, bool) { return "I1", *have == *want })
}

// addClaim counts a record's claim. A tenant's underscore record claims nothing.
func (z *zone) addClaim(r *record) {
	if r.admission == rules.AdmittedUnderscore && r.Namespace != z.Namespace {
		return
	}
	o := z.ownerAt(base(r.owner))
	i, found := slices.BinarySearchFunc(o.Claims, r.Namespace, func(c law.Claim, ns string) int { return strings.Compare(c.Namespace, ns) })
	if !found {
		o.Claims = slices.Insert(o.Claims, i, law.Claim{Namespace: r.Namespace})
	}
	switch c := &o.Claims[i]; r.admission {
	case rules.AdmittedUnderscore:
		c.Underscore++
	case rules.AdmittedShared:
		c.Shared++
	case rules.AdmittedLiteral:
		c.Literal++
	default:
		c.Plain++
	}
}

// base returns the name that a wildcard or underscore name claims (S4.7): apps for *.apps and _acme-challenge.apps, the
// apex for _dmarc.
func base(owner name.Rel) name.Rel {
	labels, out := owner.Labels(), owner
	for i, at := 0, owner; i < len(labels); i++ {
		at, _ = at.Parent()
		if labels[i] == "*" || strings.HasPrefix(labels[i], "_") {
			out = at
		}
	}
	return out
}

// checkOwners compares the facts of each name: values, cuts, claims, reservations and pointers. The rule of a finding
// tells which part differs.
func (c *check) checkOwners() error {
	return checkRoom(c, "owners", "I1", func(z *zone, want func(string, *law.Owner)) {
		for o, v := range z.owners {
			want(c.layout.Key(law.OwnerKey(z.UID, o)), v)
		}
	}, func(have, want *law.Owner) (Rule, bool) {
		return firstBroken([]equality{
			{"I1", slices.EqualFunc(have.Values, want.Values, sameValue)}, {"I1", slices.EqualFunc(have.Cut, want.Cut, sameValue)},
			{"S4.22", slices.Equal(have.Named, want.Named)}, {"S4.14", have.Own == want.Own}, {"S4.26", have.Pointers == want.Pointers},
			{"S4.7", slices.Equal(have.Claims, want.Claims)},
		})
	})
}

// equality is a part of two values that a rule wants equal.
type equality struct {
	rule  Rule
	holds bool
}

// firstBroken returns the rule of the first part that differs, or true if none does.
func firstBroken(parts []equality) (Rule, bool) {
	i := slices.IndexFunc(parts, func(e equality) bool { return !e.holds })
	if i < 0 {
		return "", true
	}
	return parts[i].rule, false
}

func (c *check) checkCounts() error {
	return checkRoom(c, "counts", "S5.9", func(z *zone, want func(string, *law.Count)) {
		for ns, n := range z.counts {
			want(c.layout.Key(law.CountKey(z.UID, ns)), &law.Count{Records: n})
		}
	}, func(have, want *law.Count) (Rule, bool) { return "S5.9", *have == *want })
}

func (c *check) checkDelegatedRules() error {
	return checkRoom(c, "rules", "S4.3", func(z *zone, want func(string, *law.NamespaceRules)) {
		for ns, rules := range z.delegatedRules {
			want(c.layout.Key(law.RulesKey(z.UID, ns)), &law.NamespaceRules{List: rules})
		}
	}, func(have, want *law.NamespaceRules) (Rule, bool) { return "S4.3", encodeText(have) == encodeText(want) })
}

// checkOrphans compares the keys by which a new zone or rule finds waiting objects (S2.3), and sets keptOut of Records.
func (c *check) checkOrphans() error {
	// 1. Compute the keys of waiting Records, pending zones, and Delegations without a zone.
	want, waits := map[string]string{}, map[string]*record{}
	wants := func(w waiter, resource string, moves bool) (keys []string) {
		keys = c.layout.Waiting(w.waiting, resource, w.Namespace, w.Name)
		for _, key := range keys {
			want[key] = layout.WaitingValue(w.UID, w.created, moves)
		}
		return keys
	}

	for _, r := range c.records {
		if r.adoptedBy == nil {
			of := law.Ref{Namespace: r.Namespace, Name: r.Name, UID: r.UID}
			for _, key := range wants(waiter{of, r.Created, r.waiting()}, "records", r.moving) {
				waits[key] = r
			}
		}
	}

	for _, z := range c.zones {
		if z.Pending {
			wants(waiter{z.Ref, z.created, z.spec.Waiting()}, "zones", false)
		}
	}

	for _, d := range c.waitingDelegations {
		wants(d, "delegations", false)
	}

	// 2. Compare the stored keys.
	room := c.layout.Room("orphans")
	err := c.eachBetween(room, clientv3.GetPrefixRangeEnd(room), func(key string, kv *mvccpb.KeyValue) {
		c.report.Keys++
		have := string(kv.Value)
		var w layout.Waiter
		// Only the stored key has the namespace whose data keep a Record out (annotation on-conflict: wait).
		if r := waits[key]; r != nil && layout.Decode(kv.Value, &w) == nil && w.KeptOut != "" { // only here
			r.keptOut, w.KeptOut = w.KeptOut, ""
			have = string(layout.Encode(w))
		}
		c.require(have == want[key], key, "S2.3", string(kv.Value), "%s", cmp.Or(want[key], "nothing: no object waits there"))
		delete(want, key)
	})

	// 3. The store lacks the keys left.
	for key, w := range want {
		c.reportDamage(key, "S2.3", "nothing", "%s: without it no zone would find the waiting object", w)
	}
	return err
}

// checkDue compares the keys by which servers find Records at their expiry.
func (c *check) checkDue() error {
	want := map[string]string{}
	for _, r := range c.records {
		if r.dueAt != 0 {
			want[c.layout.Key(law.DueKey(r.dueAt, r.Namespace, r.Name))] = r.UID
		}
	}
	err := eachKey(c, "due", func(key, _ string, have *law.Due) {
		c.require(have.UID == want[key], key, "S15.3", "record "+have.UID, "%s", cmp.Or(want[key], "nothing: no such record "+
			"expires then"))
		delete(want, key)
	})
	for key, uid := range want {
		c.reportDamage(key, "S15.3", "nothing", "record %s: without the key it never expires; write its spec.expiresAt again", uid)
	}
	return err
}

func (c *check) checkWaiting() error {
	for _, r := range c.records {
		// Deciding every waiting Record may take minutes, so the caller may cancel between two.
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if r.adoptedBy == nil {
			c.checkWaitingRecord(r)
		}
	}
	for _, z := range c.zones {
		if z.Pending && !z.Terminating {
			c.checkPending(z)
		}
	}
	return nil
}

// runLaw decides like a server, with facts from the model instead of etcd. If the law asks again for a fact that it
// has, the facts contradict each other, and ok is false.
func (c *check) runLaw(decide func(*law.Facts) law.Outcome) (out law.Outcome, ok bool) {
	seen := law.NewFacts()
	for {
		// The law names the missing facts, such as zone and claims above www.example.org., until none is missing.
		out = decide(seen)
		if len(out.Need) == 0 {
			return out, true
		}
		for _, k := range out.Need {
			if _, known := seen.Get(k); known {
				return out, false
			}
		}
		for _, k := range out.Need {
			seen.Put(k, c.lookUpFact(k))
		}
	}
}

// checkWaitingRecord asks the law whether a zone would take the Record in now. Such a Record is pending, not damaged,
// because servers retry once a minute (S2.7).
func (c *check) checkWaitingRecord(r *record) {
	// The time of creation, or of expiry, serves as the present, so the report does not depend on a clock.
	now := r.Created
	if r.ExpiresAt != 0 && r.dueAt == 0 {
		now = r.ExpiresAt
	}
	ask := records.RecordInput{Namespace: r.Namespace, Name: r.Name, UID: r.UID, WaitingBefore: r.waiting(), After: r.Record, Cascade: true,
		Now: time.Unix(now, 0), WorkID: "fsck"}
	out, ok := c.runLaw(func(seen *law.Facts) law.Outcome { return records.DecideRecord(seen, ask) })
	var p *law.Placement
	if out.Plan != nil {
		p = out.Plan.Record
	}
	switch {
	case !ok || p == nil:
		c.reportDifference(c.isWorkPending(r), r.key, "I5", "not adopted", "facts that fit each other")
	case p.Zone != nil:
		c.reportPending(r.key, "S2.7", "not adopted", "adopted by zone %s/%s, which allows it", p.Zone.Namespace, p.Zone.Name)
	// A new zone looks for waiting Records by view and name, and would miss a Record stored elsewhere.
	case p.FQDN != r.fqdn || p.View != r.view:
		c.reportDifference(c.isWorkPending(r), r.key, "S2.3", fmt.Sprintf("waits at %q %q", r.view, r.fqdn), "%q %q, where its zone would "+
			"look for it", p.View, p.FQDN)
	}
}

func (c *check) checkPending(z *zone) {
	ask := zones.ZoneInput{Before: z.Zone, After: z.spec, Cascade: true, Now: time.Unix(z.created, 0), WorkID: "fsck"}
	out, ok := c.runLaw(func(seen *law.Facts) law.Outcome { return zones.DecideZone(seen, ask) })
	if !ok || out.Plan == nil || out.Plan.Zone == nil || !out.Plan.Zone.Zone.Pending {
		c.reportPending(z.key, "S2.7", "pending", "not pending: its name is free, and a rule delegates it")
	}
}

func (c *check) checkSerials() error {
	existing := map[string]*zone{}
	for p, z := range c.zonesByName {
		existing[c.layout.Key(law.Key{Kind: law.KindLastSerial, View: p.view, Name: p.fqdn})] = z
	}
	return eachKey(c, "serials", func(key, _ string, last *law.LastSerial) {
		z := existing[key]
		c.require(z == nil || !last.Serial.Ahead(z.Serial), key, "S6.10", fmt.Sprintf("serial %d", last.Serial), "none ahead of the zone's")
	})
}
