// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
	s, works := z.status, len(z.holding.Works)
	says := meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionSettled)
	through := s.SettledSerial == s.Serial
	held := z.holding.Held != nil
	if cond := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSettled); held != (cond != nil &&
		cond.Reason == v1alpha1.ReasonMassDeletion) {
		c.reportDamage(z.key, "S7.5", fmt.Sprintf("held by a mass deletion: %t", !held), "%t, as names/ says", held)
	}
	if held && z.holding.Held.Serial != serial.Serial(s.SettledSerial) {
		c.reportDamage(c.nameKey(z), "S7.5", fmt.Sprintf("held at serial %d", z.holding.Held.Serial), "settledSerial, %d", s.SettledSerial)
	}
	if held {
		if e := z.ExcessOf(z.holding.Held); !e.Holds() {
			c.reportDamage(c.nameKey(z), "S7.5", fmt.Sprintf("held for %+v", *e), "more than the zone's own namespace may remove")
		}
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
	if !through && !held && (works == 0 || z.holding.Overdue) {
		c.reportDamage(z.key, "S7.2", fmt.Sprintf("settledSerial %d", s.SettledSerial), "%d, the serial: nothing holds the zone back",
			s.Serial)
	}
	if isAhead(s.SettledSerial, s.Serial) && s.SettledSerial != 0 {
		c.reportDamage(z.key, "S7.2", fmt.Sprintf("settledSerial %d", s.SettledSerial), "none ahead of the serial, %d", s.Serial)
	}
}

// checkHolding checks what names/ says of the zone beside its works.
func (c *check) checkHolding(z *zone) {
	key, h := c.nameKey(z), z.holding
	if d := z.status.DNSSEC; d != nil && d.FQDN != z.status.FQDN {
		c.reportDamage(z.key, "S12.2", "status.dnssec of "+d.FQDN, "one of %s, or none", z.status.FQDN)
	}
	parent := "none"
	if p := z.status.ParentRef; p != nil {
		parent = p.Namespace + "/" + p.Name
	}
	if have := refText(h.Parent); have != parent {
		c.reportDamage(key, "S3.1", "parent "+have, "%s, as status.parentRef", parent)
	}
	if have, want := refText(h.Target), refText(z.targetZone()); have != want {
		c.reportDamage(key, "S1.5", "refers to "+have, "%s, as spec.zoneRef", want)
	}
	cond := meta.FindStatusCondition(z.status.Conditions, v1alpha1.ConditionDelegated)
	if by := h.Withdrawn; by != "" && (h.Parent == nil || h.Parent.UID != by || cond == nil ||
		cond.Reason != v1alpha1.ReasonDelegationWithdrawn) {
		c.reportDamage(key, "S3.4", "withdrawn by zone "+by, "nothing: the condition Delegated or the parent says otherwise")
	}
	if (h.Withdrawn != "") != (z.status.EndsAt != nil) {
		c.reportDamage(z.key, "S3.4", fmt.Sprintf("endsAt %v", z.status.EndsAt), "one where a rule was withdrawn, and only there")
	}
	if h.Delegations != z.given.delegations {
		c.reportDamage(key, "S4.8", fmt.Sprintf("%d Delegations", h.Delegations), "%d", z.given.delegations)
	}
	if ns := z.apexValues(rdata.NS); !slices.Equal(ns, h.ApexNS) {
		c.reportDamage(key, "S6.2", "apex NS "+strings.Join(h.ApexNS, ", "), "%s", strings.Join(ns, ", "))
	}
	var named law.Holding
	for _, r := range z.recordsAt(name.Apex) {
		if r.Namespace == z.Namespace {
			of := r.ContributionAt(r.owner)
			named.CountHosts(&of, 1)
		}
	}
	if !maps.Equal(named.ApexHosts, h.ApexHosts) {
		c.reportDamage(key, "S6.2", "hosts of the apex "+encodeText(h.ApexHosts), "%s", encodeText(named.ApexHosts))
	}
}

func refText(r *law.Ref) string {
	if r == nil {
		return "none"
	}
	return r.Namespace + "/" + r.Name
}

// apexValues are the values of the records of a type at the apex, sorted.
func (z *zone) apexValues(t rdata.Type) []string {
	var out []string
	for _, r := range z.recordsAt(name.Apex) {
		if r.Type != t {
			continue
		}
		for _, v := range r.Values {
			if i, found := slices.BinarySearch(out, v.Text); !found {
				out = slices.Insert(out, i, v.Text)
			}
		}
	}
	return out
}

// recordsAt returns the zone's records with one owner.
func (z *zone) recordsAt(owner name.Rel) []*record {
	if z.byOwner == nil {
		z.byOwner = map[name.Rel][]*record{}
		for _, r := range z.records {
			z.byOwner[r.owner] = append(z.byOwner[r.owner], r)
		}
	}
	return z.byOwner[owner]
}

// rrsetAt returns the RRset that records make at an owner.
func (z *zone) rrsetAt(owner name.Rel, t rdata.Type) (content.RRset, bool) {
	out := content.RRset{Owner: owner, Type: t}
	for _, r := range z.recordsAt(owner) {
		if r.Type != t {
			continue
		}
		one := content.RRset{Owner: owner, Type: t, TTL: content.InheritTTL()}
		if r.TTL != nil {
			one.TTL = content.ExplicitTTL(*r.TTL)
		}
		for _, v := range r.Values {
			one.Data = append(one.Data, v.Text)
		}
		out = out.Merge(one)
	}
	return out, len(out.Data) > 0
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
