// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
)

func (c *check) checkZones() error {
	for _, z := range c.zonesByName {
		c.checkName(z)
		c.checkSettled(z)
		c.checkHolding(z)
	}
	ends := map[string]bool{}
	for _, w := range c.works {
		ends[w.Purge] = ends[w.Purge] || w.Ended != nil
	}
	for _, z := range c.zones {
		if s := z.status; z.Pending {
			c.require(!z.Ending || ends[z.UID], z.key, "S3.5", "a zone that ended, with endsAt",
				"no endsAt: no work releases its records, so it would stay")
			c.require(s.Serial == 0 && s.ContentState == "" && s.Hash == "" && s.ContentGeneration == 0 && s.EntryCount == 0, z.key, "S3.2",
				fmt.Sprintf("a pending zone with serial %d and hash %q", s.Serial, s.Hash), "none of it: it waits for another zone")
		}
	}
	return nil
}

func (c *check) checkName(z *zone) {
	text, fqdn := z.spec.DomainName, z.FQDN()
	relative := !name.IsAbsolute(text)
	follows := false
	// The zone of zoneRef may be gone or renamed, so the parent may be any name above.
	for up, ok := fqdn, true; ok && !follows; up, ok = up.Parent() {
		n, err := name.ParseIn(text, up)
		follows = err == nil && n == fqdn && (!relative || up != fqdn)
	}
	c.require(follows, z.key, "S1.6", "status.fqdn "+z.status.FQDN, "%q, or a name that begins so", text)
	c.require(!relative || z.spec.ZoneRef != nil, z.key, "S1.1", "a relative name without zoneRef", "one of them")
}

// checkSettled checks that Settled, settledSerial (the delivered serial), the hold (of a mass deletion) and the marks
// of pending cascades agree. Settled may stay True until a cascade's next step: a zone's removal puts a mark on the
// zone that gains records, without a write of the gaining zone's object.
func (c *check) checkSettled(z *zone) {
	s, h, works := z.status, z.holding, len(z.holding.Works)
	cond := cmp.Or(meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSettled), &metav1.Condition{})
	settled := fmt.Sprintf("settledSerial %d", s.SettledSerial)
	c.checkHold(z, cond.Reason, settled)
	c.checkDeletions(z)

	isHeld := h.Held != nil
	mayWait := works > 0 || isHeld
	isSettled := cond.Status == metav1.ConditionTrue
	isDelivered := s.SettledSerial == s.Serial
	c.require(mayWait || isSettled, z.key, "S7.2", "not Settled", "Settled: no work on the zone is pending")
	c.require(!mayWait || !isSettled || isDelivered, z.key, "S7.2", "Settled",
		"not Settled: %d works on the zone are pending", works)
	c.require(isDelivered || isHeld || works > 0 && !h.Overdue, z.key, "S7.2", settled,
		"%d, the serial: nothing holds the zone back", s.Serial)
	c.require(s.SettledSerial == 0 || !isAhead(s.SettledSerial, s.Serial), z.key, "S7.2", settled, "none ahead of the serial, %d", s.Serial)
}

func (c *check) checkHold(z *zone, reason, settled string) {
	held, key := z.holding.Held, c.nameKey(z)
	isHeld := held != nil
	c.require(isHeld == (reason == v1alpha1.ReasonMassDeletion), z.key, "S7.5", "Settled "+reason, "a mass deletion: %t, as in "+
		"names/", isHeld)
	if !isHeld {
		return
	}
	c.require(held.Serial == serial.Serial(z.status.SettledSerial), key, "S7.5", "held: "+encodeText(held), "at %s", settled)
	c.require(z.ExcessOf(held).Holds(), key, "S7.5", "held: "+encodeText(held), "for more than its own namespace may remove")
}

// checkDeletions checks the numbers that decide about a hold.
func (c *check) checkDeletions(z *zone) {
	d := z.Deletions
	most := cmp.Or(d.PeakStock, &law.Stock{Own: d.Own})
	isNegative := func(s law.Stock) bool { return s.RRsets < 0 }
	hasNegative := d.PeriodStart < 0 || slices.ContainsFunc(d.LeastStocks[:], isNegative) || isNegative(*most)
	c.require(!hasNegative && most.Own >= d.Own, z.key, "S7.5", "status.deletions "+encodeText(d),
		"numbers of RRsets, none above the most, and a time")
}

func (c *check) checkHolding(z *zone) {
	key, h := c.nameKey(z), z.holding
	expect := func(rule Rule, what string, have, want any) {
		x, y := encodeText(have), encodeText(want)
		c.require(x == y, key, rule, what+" "+x, "%s", y)
	}

	if d := z.status.DNSSEC; d != nil {
		c.require(d.FQDN == z.status.FQDN, z.key, "S12.2", "status.dnssec of "+d.FQDN, "one of %s, or none", z.status.FQDN)
	}
	parent := "none"
	if p := z.status.ParentRef; p != nil {
		parent = p.Namespace + "/" + p.Name
	}

	expect("S3.1", "parent", refText(h.Parent), parent)
	expect("S1.6", "refers to", refText(h.Target), refText(z.spec.ZoneRef))
	cond := meta.FindStatusCondition(z.status.Conditions, v1alpha1.ConditionDelegated)
	c.require(h.Withdrawn == "" || h.Parent != nil && h.Parent.UID == h.Withdrawn && cond != nil &&
		cond.Reason == v1alpha1.ReasonDelegationWithdrawn, key, "S3.5", "withdrawn by zone "+h.Withdrawn, "nothing: the condition "+
		"Delegated or the parent says otherwise")
	c.require((h.Withdrawn != "") == (z.status.EndsAt != nil), z.key, "S3.5", fmt.Sprintf("endsAt %v", z.status.EndsAt), "one where a "+
		"rule was withdrawn, and only there")
	expect("S4.3", "number of Delegations", h.Delegations, z.delegationCount)
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

	c.require(maps.Equal(hosts, h.ApexHosts), key, "S4.10", "hosts of the apex "+encodeText(h.ApexHosts), "%s", encodeText(hosts))
}

func refText(r *law.Ref) string {
	if r == nil {
		return "none"
	}
	return r.Namespace + "/" + r.Name
}

func (c *check) checkCuts() error {
	want, kept := map[edge]*law.CountedCut{}, map[edge]bool{}
	for _, z := range c.zonesByName {
		if z.holding.Parent == nil {
			continue
		}
		p := c.zones[z.holding.Parent.UID]
		if p == nil || p.Pending || !z.holding.CountedBy(p.Zone) {
			continue
		}

		e := edge{p.UID, z.UID}
		var cut *law.CountedCut
		if sets := content.Cut(p.FQDN(), z.Header, z.rrsetAt); len(sets) > 0 {
			cut = &law.CountedCut{Sets: sets}
		}
		if cut = z.holding.CutWithDS(cut, z.DS); z.holding.KeepsCut(c.cuts[e]) {
			want[e], kept[e] = c.cuts[e], true
		} else if cut != nil {
			want[e] = cut
		}
	}

	for e, d := range c.pendingCuts {
		if !kept[e] { // a kept cut waits for the end of the hold
			c.reportPending(c.layout.PendingCut(e.parent, e.child), "I4", fmt.Sprintf("parent %s/%s, child %s/%s", d.Parent.Namespace,
				d.Parent.Name, d.Child.Namespace, d.Child.Name), "paid")
		}
	}

	differ := func(e edge, have, want *law.CountedCut) {
		c.reportDifference(c.pendingCuts[e] != law.PendingCut{}, c.layout.Room("cuts")+e.parent+"/"+e.child, "S6.3", encodeText(have), "%s",
			encodeText(want))
	}

	for e, w := range want {
		if have := c.cuts[e]; have == nil || !slices.EqualFunc(have.Sets, w.Sets, content.RRset.Equal) {
			differ(e, have, w)
		}
	}

	for e, have := range c.cuts {
		if want[e] == nil && !c.unread.countUnread(law.Ref{UID: e.child}) {
			differ(e, have, nil) // the parent delegates no such zone
		}
	}

	return nil
}

func (c *check) checkContent(z *zone, sets map[setKey]*rrset) {
	rows := 0
	var elements []sethash.Element
	for k, s := range sets {
		rows += len(s.data)
		elements = content.RRset{Owner: k.owner, Type: k.t, TTL: s.ttl, Data: s.data}.Elements(elements)
	}
	state, err := (sethash.State{}).Update(nil, elements)
	hash, n := z.Header.Hash(sethash.State(z.State)), int64(content.EntryCount(z.Header.NameServerRRsets(), rows))
	c.require(err == nil && state.String() == z.status.ContentState, z.key, "S6.7", "contentState "+z.status.ContentState, "%s, of %d rows",
		state, rows)
	c.require(hash == z.status.Hash, z.key, "S6.7", "hash "+z.status.Hash, "%s, of the header and contentState", hash)
	c.require(n == z.status.EntryCount, z.key, "S6.7", fmt.Sprintf("entryCount %d", z.status.EntryCount), "%d", n)
}
