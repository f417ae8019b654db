// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
)

// targetZone returns the zone that spec.zoneRef names; nil for none.
func (z *zone) targetZone() *law.Ref {
	if z.spec.ZoneRef == nil {
		return nil
	}
	r := &law.Ref{Namespace: z.spec.ZoneRef.Namespace, Name: z.spec.ZoneRef.Name}
	if r.Namespace == "" {
		r.Namespace = z.Namespace
	}
	return r
}

// checkZones compares a zone's status, its key under names/, its spec and its records with each other.
func (c *check) checkZones() error {
	for _, z := range c.names {
		c.checkName(z)
		c.checkSettled(z)
		c.checkHolding(z)
	}
	ends := map[string]bool{}
	for _, w := range c.works {
		ends[w.Purge] = ends[w.Purge] || w.Ended != nil
	}
	for _, z := range c.zones {
		if z.Pending && z.Ending && !ends[z.UID] {
			c.reportDamage(z.key, "S3.4", "a zone that ended, with endsAt "+z.status.EndsAt.String(),
				"no endsAt: no work lets go what it had, and nothing would take it away")
		}
		if s := z.status; z.Pending && (s.Serial != 0 || s.ContentState != "" || s.Hash != "" || s.ContentGeneration != 0 ||
			s.EntryCount != 0) {
			c.reportDamage(z.key, "S3.1", fmt.Sprintf("a pending zone with serial %d and hash %q", s.Serial, s.Hash),
				"none of it: it waits for the zone it refers to")
		}
	}
	return nil
}

// checkName checks that the fqdn follows from spec and the zone referred to (S1.5).
func (c *check) checkName(z *zone) {
	if name.IsAbsolute(z.spec.DomainName) {
		if n, err := name.Parse(z.spec.DomainName); err != nil || n != z.FQDN() {
			c.reportDamage(z.key, "S1.5", "status.fqdn "+z.status.FQDN, "%q", z.spec.DomainName)
		}
	} else if t := z.targetZone(); t == nil {
		c.reportDamage(z.key, "S1.1", "a relative name without zoneRef", "one of them")
	} else if !isRelativeTo(z.FQDN(), z.spec.DomainName) {
		c.reportDamage(z.key, "S1.5", "status.fqdn "+z.status.FQDN, "a name that begins with %q", z.spec.DomainName)
	}
}

// isRelativeTo reports whether fqdn is a relative name below some zone. That zone may have gone, or be another one by
// now: a zone that stands keeps its name (S1.5).
func isRelativeTo(fqdn name.Name, relative string) bool {
	for up, ok := fqdn.Parent(); ok; up, ok = up.Parent() {
		if n, err := name.ParseIn(relative, up); err == nil && n == fqdn {
			return true
		}
	}
	return false
}

// checkSettled checks that Settled, settledSerial and the marks of cascades agree (S7.2). The mark that a removed
// zone leaves at the zone that gains its records is set without that zone's object (I1), so until a step touches it
// the object may still say settled.
func (c *check) checkSettled(z *zone) {
	s, h, works, key := z.status, z.holding, len(z.holding.Works), c.nameKey(z)
	cond := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSettled)
	says, through, held := cond != nil && cond.Status == "True", s.SettledSerial == s.Serial, h.Held != nil
	settled := fmt.Sprintf("settledSerial %d", s.SettledSerial)
	if held != (cond != nil && cond.Reason == v1alpha1.ReasonMassDeletion) {
		c.reportDamage(z.key, "S7.5", fmt.Sprintf("held by a mass deletion: %t", !held), "%t, as names/ says", held)
	}
	if held && h.Held.Serial != serial.Serial(s.SettledSerial) {
		c.reportDamage(key, "S7.5", fmt.Sprintf("held at serial %d", h.Held.Serial), "%s", settled)
	}
	if held && !z.ExcessOf(h.Held).Holds() {
		c.reportDamage(key, "S7.5", fmt.Sprintf("held for %+v", *z.ExcessOf(h.Held)), "more than the zone's own namespace may remove")
	}
	if d := z.Deletions; slices.ContainsFunc(d.Least[:], func(s law.Stock) bool { return s.RRsets < 0 }) || d.Since < 0 {
		c.reportDamage(z.key, "S7.5", fmt.Sprintf("status.deletions %+v", d), "numbers of RRsets, and a time")
	}
	if works == 0 && !held && !says {
		c.reportDamage(z.key, "S7.2", "not Settled", "Settled: no work stands against the zone")
	}
	if (works > 0 || held) && says && !through {
		c.reportDamage(z.key, "S7.2", "Settled", "not Settled: %d works stand against the zone", works)
	}
	if !through && !held && (works == 0 || h.Overdue) {
		c.reportDamage(z.key, "S7.2", settled, "%d, the serial: nothing holds the zone back", s.Serial)
	}
	if isAhead(s.SettledSerial, s.Serial) && s.SettledSerial != 0 {
		c.reportDamage(z.key, "S7.2", settled, "none ahead of the serial, %d", s.Serial)
	}
}

// checkHolding checks what names/ says of the zone beside its works and its parent.
func (c *check) checkHolding(z *zone) {
	key, h := c.nameKey(z), z.holding
	expect := func(rule Rule, what string, have, want any) {
		if x, y := encodeText(have), encodeText(want); x != y {
			c.reportDamage(key, rule, what+" "+x, "%s", y)
		}
	}
	if d := z.status.DNSSEC; d != nil && d.FQDN != z.status.FQDN {
		c.reportDamage(z.key, "S12.2", "status.dnssec of "+d.FQDN, "one of %s, or none", z.status.FQDN)
	}
	parent := "none"
	if p := z.status.ParentRef; p != nil {
		parent = p.Namespace + "/" + p.Name
	}
	expect("S3.1", "parent", refText(h.Parent), parent) // of the status
	expect("S1.5", "refers to", refText(h.Target), refText(z.targetZone()))
	cond := meta.FindStatusCondition(z.status.Conditions, v1alpha1.ConditionDelegated)
	if by := h.Withdrawn; by != "" && (h.Parent == nil || h.Parent.UID != by || cond == nil ||
		cond.Reason != v1alpha1.ReasonDelegationWithdrawn) {
		c.reportDamage(key, "S3.4", "withdrawn by zone "+by, "nothing: the condition Delegated or the parent says otherwise")
	}
	if (h.Withdrawn != "") != (z.status.EndsAt != nil) {
		c.reportDamage(z.key, "S3.4", fmt.Sprintf("endsAt %v", z.status.EndsAt), "one where a rule was withdrawn, and only there")
	}
	expect("S4.8", "number of Delegations", h.Delegations, z.delegations)
	ns, _ := z.rrsetAt(name.Apex, rdata.NS)
	expect("S6.2", "apex NS", h.ApexNS, ns.Data)
	hosts := map[string]int{}
	for _, r := range z.recordsAt(name.Apex) {
		if r.Namespace == z.Namespace && (r.Type == rdata.MX || r.Type == rdata.SVCB || r.Type == rdata.HTTPS) {
			for _, v := range r.Values {
				hosts[v.Host()]++
			}
		}
	}
	if !maps.Equal(hosts, h.ApexHosts) {
		expect("S6.2", "hosts of the apex", h.ApexHosts, hosts)
	}
}

func refText(r *law.Ref) string {
	if r == nil {
		return "none"
	}
	return r.Namespace + "/" + r.Name
}

// checkCuts recounts what parents count for their delegated children (S6.1).
func (c *check) checkCuts() error {
	want, kept := map[edge]*law.CountedCut{}, map[edge]bool{}
	for _, z := range c.names {
		if z.holding.Parent == nil {
			continue
		}
		if p := c.zones[z.holding.Parent.UID]; p != nil && !p.Pending && z.holding.CountedBy(p.Zone) {
			e := edge{p.UID, z.UID}
			if cut := z.holding.Counts(c.expectedCut(p, z), z.DS); z.holding.KeepsCut(c.cuts[e]) {
				want[e], kept[e] = c.cuts[e], true
			} else if cut != nil {
				want[e] = cut
			}
		}
	}
	for e, d := range c.pendingCuts {
		if !kept[e] { // such a one waits, and the end of the hold owes it anew
			c.reportOwed(c.layout.PendingCut(e.parent, e.child), "I4", fmt.Sprintf("parent %s/%s, child %s/%s", d.Parent.Namespace,
				d.Parent.Name, d.Child.Namespace, d.Child.Name), "paid")
		}
	}
	owed := func(e edge) bool { return c.pendingCuts[e] != law.PendingCut{} }
	for e, w := range want {
		if have := c.cuts[e]; have == nil || !sameCut(have, w) {
			c.reportDifference(owed(e), c.cutKey(e), "S6.1", encodeText(have), "%s", encodeText(w))
		}
	}
	for e, have := range c.cuts {
		if want[e] == nil && !c.unread.countUnread(law.Ref{UID: e.child}) {
			c.reportDifference(owed(e), c.cutKey(e), "S6.1", encodeText(have), "nothing: the parent delegates no "+
				"such zone")
		}
	}
	return nil
}

func (c *check) cutKey(e edge) string { return c.layout.Room("cuts") + e.parent + "/" + e.child }

func sameCut(x, y *law.CountedCut) bool {
	return slices.EqualFunc(x.Sets, y.Sets, content.RRset.Equal)
}

// expectedCut returns what parent should count for child; nil for nothing.
func (c *check) expectedCut(parent, child *zone) *law.CountedCut {
	sets := content.Cut(parent.FQDN(), child.Header, child.rrsetAt)
	if len(sets) == 0 {
		return nil
	}
	return &law.CountedCut{Sets: sets}
}

// checkContent compares what the zone's status says of its definition.
func (c *check) checkContent(z *zone, sets map[setKey]*rrset) {
	rows := 0
	var elements []sethash.Element
	var state sethash.State
	var err error
	add := func() {
		if err == nil {
			state, err = state.Update(nil, elements)
		}
		elements = elements[:0]
	}
	for k, s := range sets {
		rows += len(s.data)
		elements = content.RRset{Owner: k.owner, Type: k.t, TTL: s.ttl, Data: s.data}.Elements(elements)
		if len(elements) >= page {
			add()
		}
	}
	add()
	if err != nil || state.String() != z.status.ContentState {
		c.reportDamage(z.key, "S6.4", "contentState "+z.status.ContentState, "%s, of %d rows", state, rows)
	}
	if hash := z.Header.Hash(sethash.State(z.State)); hash != z.status.Hash {
		c.reportDamage(z.key, "S6.4", "hash "+z.status.Hash, "%s, of the header and contentState", hash)
	}
	if n := int64(content.EntryCount(z.Header, rows)); n != z.status.EntryCount {
		c.reportDamage(z.key, "S6.4", fmt.Sprintf("entryCount %d", z.status.EntryCount), "%d", n)
	}
}
