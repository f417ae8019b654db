// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
)

func (c *check) checkZones() error {
	for _, z := range c.zonesByName {
		c.checkName(z)
		c.checkSettled(z)
		c.checkHolding(z)
	}

	// A work with Ended releases the records of an ended zone. Without such a work, an ended example.org. keeps them
	// forever.
	ends := map[string]bool{}
	for _, w := range c.works {
		ends[w.Purge] = ends[w.Purge] || w.Ended != nil
	}
	for _, z := range c.zones {
		if z.Pending {
			c.checkPendingStatus(z, ends[z.UID])
		}
	}
	return nil
}

// checkPendingStatus checks a zone without a name. A pending zone with endsAt has ended, and a work still releases its
// Records. Other pending zones wait for a name.
func (c *check) checkPendingStatus(z *zone, isReleasing bool) {
	s := z.status
	c.require(!z.Ending || isReleasing, z.key, "S3.5", "a zone that ended, with endsAt",
		"no endsAt: no work releases its records, so it would stay")
	c.require(s.ContentState+s.Hash == "" && cmp.Or(s.Serial, s.ContentGeneration, s.EntryCount) == 0, z.key, "S3.2",
		fmt.Sprintf("a pending zone with serial %d and hash %q", s.Serial, s.Hash), "none of it: it waits for another zone")
}

// checkName requires status.fqdn to follow from spec.domainName, which never changes (S1.6): from "dev" may follow
// dev.example.org., from "dev.example.org." nothing else.
func (c *check) checkName(z *zone) {
	text, fqdn := z.spec.DomainName, z.FQDN()
	n, err := name.Parse(text)
	if name.IsAbsolute(text) {
		c.require(err == nil && n == fqdn, z.key, "S1.6", "status.fqdn "+z.status.FQDN, "%q", text)
		return
	}
	c.require(z.spec.ZoneRef != nil, z.key, "S1.1", "a relative name without zoneRef", "one of them")
	// The zone of zoneRef may be gone or renamed, so the parent may be any name above.
	for up, ok := fqdn.Parent(); ok; up, ok = up.Parent() {
		if n, err := name.ParseIn(text, up); err == nil && n == fqdn {
			return
		}
	}
	c.reportDamage(z.key, "S1.6", "status.fqdn "+z.status.FQDN, "a name that begins with %q", text)
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
	isIdle := works == 0 && !isHeld
	isSettled := cond.Status == metav1.ConditionTrue
	isDelivered := s.SettledSerial == s.Serial

	// An idle zone is Settled and delivered up to its serial.
	if isIdle {
		c.require(isSettled, z.key, "S7.2", "not Settled", "Settled: no work on the zone is pending")
	} else {
		c.require(!isSettled || isDelivered, z.key, "S7.2", "Settled", "not Settled: %d works on the zone are pending", works)
	}
	// Only a hold, or a cascade in time, keeps settledSerial behind. An overdue cascade delays delivery no longer.
	mayLag := isHeld || !isIdle && !h.Overdue
	c.require(isDelivered || mayLag, z.key, "S7.2", settled, "%d, the serial: nothing holds the zone back", s.Serial)
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
	// A held zone is delivered at the serial before the mass deletion (S7.8).
	c.require(held.Serial == serial.Serial(z.status.SettledSerial), key, "S7.5", "held: "+encodeText(held), "at %s", settled)
	c.require(z.ExcessOf(held).Holds(), key, "S7.5", "held: "+encodeText(held), "for more than its own namespace may remove")
}

// checkDeletions checks the numbers that decide about a hold.
func (c *check) checkDeletions(z *zone) {
	d := z.Deletions
	// PeakStock is nil after the owner let the removals of the period through.
	most := cmp.Or(d.PeakStock, &law.Stock{Own: d.Own})
	isNegative := func(s law.Stock) bool { return s.RRsets < 0 }
	hasNegative := d.PeriodStart < 0 || slices.ContainsFunc(d.LeastStocks[:], isNegative) || isNegative(*most)
	c.require(!hasNegative && most.Own >= d.Own, z.key, "S7.5", "status.deletions "+encodeText(d),
		"numbers of RRsets, none above the most, and a time")
}

func (c *check) checkHolding(z *zone) {
	key, h := c.nameKey(z), z.holding
	// The values have several types, and the finding needs their text anyway.
	expect := func(rule Rule, what string, have, want any) {
		x, y := encodeText(have), encodeText(want)
		c.require(x == y, key, rule, what+" "+x, "%s", y)
	}

	// The digest of a DS covers the zone's name (RFC 4034 §5.1.4), so DNSSEC status of another FQDN would break
	// resolution.
	if d := z.status.DNSSEC; d != nil {
		c.require(d.FQDN == z.status.FQDN, z.key, "S12.2", "status.dnssec of "+d.FQDN, "one of %s, or none", z.status.FQDN)
	}
	parent := "none"
	if p := z.status.ParentRef; p != nil {
		parent = p.Namespace + "/" + p.Name
	}

	// The holding repeats these fields of the Zone for decisions about other zones. A stale copy delegates by a former
	// parent.
	expect("S3.1", "parent", refText(h.Parent), parent)
	expect("S1.6", "refers to", refText(h.Target), refText(z.spec.ZoneRef))
	// In the period after a withdrawn rule, holding, condition and endsAt name the same end.
	cond := meta.FindStatusCondition(z.status.Conditions, v1alpha1.ConditionDelegated)
	withdraws := cmp.Or(h.Parent, &law.Ref{}).UID == h.Withdrawn &&
		cmp.Or(cond, &metav1.Condition{}).Reason == v1alpha1.ReasonDelegationWithdrawn
	c.require(h.Withdrawn == "" || withdraws, key, "S3.5", "withdrawn by zone "+h.Withdrawn, "nothing: the condition "+
		"Delegated or the parent says otherwise")
	c.require((h.Withdrawn != "") == (z.status.EndsAt != nil), z.key, "S3.5", fmt.Sprintf("endsAt %v", z.status.EndsAt), "one where a "+
		"rule was withdrawn, and only there")
	expect("S4.3", "number of Delegations", h.Delegations, z.delegationCount)

	// Decisions about hosts (S4.10) read apex NS and apex hosts from the holding, not from the Records.
	ns, _ := z.rrsetAt(name.Apex, rdata.NS)
	expect("S6.2", "apex NS", h.ApexNS, ns.Data)
	hosts := map[string]int{}
	for _, r := range z.recordsAt(name.Apex) {
		// Only own's MX, SVCB and HTTPS at the apex make their hosts own names.
		if r.Namespace == z.Namespace && slices.Contains([]rdata.Type{rdata.MX, rdata.SVCB, rdata.HTTPS}, r.Type) {
			for _, v := range r.Values {
				hosts[v.Host()]++
			}
		}
	}

	c.require(maps.Equal(hosts, h.ApexHosts), key, "S4.10", "hosts of the apex "+encodeText(h.ApexHosts), "%s", encodeText(hosts))
}

// computeCuts returns the cut of each child zone that a parent counts. A child that is held keeps its stored cut.
func (c *check) computeCuts() (want map[edge]*law.CountedCut, kept map[edge]bool) {
	want, kept = map[edge]*law.CountedCut{}, map[edge]bool{}
	for _, z := range c.zonesByName {
		p := c.zoneInEffect(cmp.Or(z.holding.Parent, &law.Ref{}).UID)
		if p == nil || !z.holding.CountedBy(p.Zone) {
			continue
		}
		e := edge{p.UID, z.UID}
		// While the child is held, the parent keeps the cut from before the mass deletion (S7.8).
		if kept[e] = z.holding.KeepsCut(c.cuts[e]); kept[e] {
			want[e] = c.cuts[e]
			continue
		}
		var cut *law.CountedCut
		if sets := content.Cut(p.FQDN(), z.Header, z.rrsetAt); len(sets) > 0 {
			cut = &law.CountedCut{Sets: sets}
		}
		if cut = z.holding.CutWithDS(cut, z.DS); cut != nil {
			want[e] = cut
		}
	}
	return want, kept
}

// checkCuts compares the cuts in each parent's content with NS, glue and DS of the delegated child zones (S6.3, S6.16).
// A difference with a pending cut is work in progress.
func (c *check) checkCuts() error {
	want, kept := c.computeCuts()
	// Report pending cuts, each still to be added to its parent's content by a server.
	for e, d := range c.derivations {
		if !kept[e] { // a kept cut waits for the end of the hold
			c.reportPending(c.layout.Derivation(d), "I4", fmt.Sprintf("parent %s/%s, child %s/%s", d.Into.Namespace,
				d.Into.Name, d.From.Namespace, d.From.Name), "paid")
		}
	}

	// Compare the stored cuts, in both directions.
	differ := func(e edge, have, want *law.CountedCut) {
		c.reportDifference(c.derivations[e] != law.Derivation{}, c.layout.Room("cuts")+e.parent+"/"+e.child, "S6.3", encodeText(have), "%s",
			encodeText(want))
	}

	for e, w := range want {
		if have := c.cuts[e]; have == nil || !slices.EqualFunc(have.Sets, w.Sets, content.RRset.Equal) {
			differ(e, have, w)
		}
	}

	for e, have := range c.cuts {
		// A child with an unreadable object may well have this cut.
		if want[e] == nil && !isPTR(e) && !c.unread.countUnread(law.Ref{UID: e.child}) {
			differ(e, have, nil) // the parent delegates no such zone
		}
	}

	return nil
}

// checkContent recomputes contentState, hash and entryCount of a zone from the Records and cuts (S6.7), without the
// journal.
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

// nameIn is a name of the zone from, as derived in the zone into. Both are UIDs.
type nameIn struct {
	into, from string
	owner      name.Rel
}

// checkReverseLinks compares the links from zones to their reverse zones with spec.reverse, in their keys and holdings.
func (c *check) checkReverseLinks() error {
	want := map[law.Key]*law.ReverseLinks{}
	for _, z := range c.zonesByName {
		if z.Reverse == nil {
			continue
		}
		for _, object := range z.Reverse.Zones {
			key := law.ReverseLinksKey(z.Namespace, object)
			want[key] = want[key].WithLink(law.ReverseLink{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}, true)
		}
	}
	for _, z := range c.zonesByName {
		links := want[law.ReverseLinksKey(z.Namespace, z.Name)].InView(z.View)
		c.require(slices.Equal(z.holding.Reverse, links), c.nameKey(z), "S16.1", "reverse zones "+encodeText(z.holding.Reverse), "%s",
			encodeText(links))
	}
	err := eachKey(c, "reverse", func(key, rest string, have *law.ReverseLinks) {
		namespace, object, _ := strings.Cut(rest, "/")
		k := law.ReverseLinksKey(namespace, object)
		c.require(encodeText(have) == encodeText(want[k]), key, "S16.1", encodeText(have), "%s", encodeText(want[k]))
		delete(want, k)
	})
	for k, links := range want {
		c.reportDamage(c.layout.Key(k), "S16.1", "nothing", "%s", encodeText(links))
	}
	return err
}

// checkAddressed compares the owners at which a name is counted with the addresses of its Records. A difference with a
// pending derivation is work in progress.
func (c *check) checkAddressed() error {
	want := map[nameIn][]name.Rel{}
	for _, into := range c.zonesByName {
		if into.Reverse == nil {
			continue
		}
		for _, object := range into.Reverse.Zones {
			from := c.zonesByRef[law.Ref{Namespace: into.Namespace, Name: object}]
			if from != nil && !from.Pending && from.View == into.View {
				addAddressed(want, into, from)
			}
		}
	}

	have := map[nameIn][]name.Rel{}
	err := eachZoneKey(c, "addressed", func(z *zone, key, rest string, a *law.Addressed) {
		from, owner, _ := strings.Cut(rest, "/")
		at, err := name.RelFromKey(owner)
		c.require(err == nil, key, "S16.1", "a key", "the key of a name")
		have[nameIn{z.UID, from, at}] = a.Owners
	})
	for n, owners := range want {
		if !slices.Equal(have[n], owners) {
			c.reportAddressed(n, have[n], owners)
		}
	}
	for n, owners := range have {
		if want[n] == nil {
			c.reportAddressed(n, owners, nil)
		}
	}
	c.checkPTR(have)
	c.reportPTR()
	return err
}

func addAddressed(want map[nameIn][]name.Rel, into, from *zone) {
	for _, r := range from.records {
		if r.owner.IsWildcard() {
			continue
		}
		n := nameIn{into.UID, from.UID, r.owner}
		for _, a := range records.AddAddresses(nil, into.Zone, r.Record, 0) {
			want[n] = append(want[n], a.Owner)
		}
		slices.SortFunc(want[n], name.Rel.Compare)
		if want[n] = slices.Compact(want[n]); len(want[n]) == 0 {
			delete(want, n)
		}
	}
}

func (c *check) reportAddressed(n nameIn, have, want []name.Rel) {
	isPending := slices.ContainsFunc(c.pendingPTR, func(d law.Derivation) bool {
		return d.Into.UID == n.into && d.From.UID == n.from && (d.Owner.IsZero() || d.Owner == n.owner)
	})
	isPending = isPending || c.anyScan(func(s *law.Scan) bool { return s.Kind == law.ScanAddresses && s.Zone == n.from })
	key := c.layout.Key(law.AddressedKey(n.into, n.from, n.owner))
	c.reportDifference(isPending, key, "S16.1", encodeText(have), "%s", encodeText(want))
}

// checkPTR compares the derived PTR with the names at their addresses, and these with the addresses of the names.
func (c *check) checkPTR(addressed map[nameIn][]name.Rel) {
	named := map[edge]map[law.Key]bool{}
	for n, owners := range addressed {
		for _, owner := range owners {
			e := edge{n.into, law.PTRObject(owner)}
			if named[e] == nil {
				named[e] = map[law.Key]bool{}
			}
			named[e][law.AddressedKey(n.into, n.from, n.owner)] = true
		}
	}

	for e, cut := range c.cuts {
		if !isPTR(e) {
			continue
		}
		key, z := c.layout.Cut(e.parent, e.child), c.zones[e.parent]
		owner, err := name.RelFromKey(e.child[1:])
		if err != nil || z == nil {
			c.reportDamage(key, "S16.1", "a key", "the key of an address")
			continue
		}
		want := cut.WithPTR(z.Reverse, owner, z.owners[owner].HidesPTR(owner) || z.hasDNAMEAbove(owner))
		if !slices.EqualFunc(cut.Sets, want.Sets, content.RRset.Equal) {
			c.reportDifference(c.isDeriving(e.parent), key, "S16.2", encodeText(cut.Sets), "%s", encodeText(want.Sets))
		}
		for _, x := range cut.Names {
			from := c.zones[x.Zone]
			at := name.Rel{}
			if from != nil {
				at, _ = x.Name.Rel(from.FQDN())
			}
			k := law.AddressedKey(e.parent, x.Zone, at)
			// A zone that is gone has no name any more: its derivation is pending.
			c.require(from == nil || from.Pending || named[e][k], key, "S16.1", "the name "+x.Name.String(), "no name without the address")
			delete(named[e], k)
		}
		if cut.More {
			named[e] = nil // the names beyond the first are in no list
		}
	}
	for e, left := range named {
		for k := range left {
			if from := c.zones[k.Object]; from != nil && !from.Pending {
				c.reportDifference(c.isDeriving(e.parent), c.layout.Cut(e.parent, e.child), "S16.1", "no name of "+c.layout.Key(k),
					"one: it has the address")
			}
		}
	}
}

// isDeriving reports whether the PTR of a reverse zone are still to be derived by its present rule.
func (c *check) isDeriving(zone string) bool {
	for _, w := range c.works {
		if w.Derives && slices.ContainsFunc(w.Zones, func(p law.Place) bool { return p.UID == zone }) {
			return true
		}
	}
	return slices.ContainsFunc(c.pendingPTR, func(d law.Derivation) bool { return d.Into.UID == zone })
}

func isPTR(e edge) bool { return strings.HasPrefix(e.child, "@") }

func (z *zone) hasDNAMEAbove(owner name.Rel) bool {
	for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
		if z.owners[up].HasType(rdata.DNAME) {
			return true
		}
	}
	return false
}

// reportPTR reports the pending derivations of PTR, each still to be carried out by a server.
func (c *check) reportPTR() {
	for _, d := range c.pendingPTR {
		at := cmp.Or(d.Owner.String(), "all names")
		c.reportPending(c.layout.Derivation(d), "I4", fmt.Sprintf("PTR in %s/%s, of %s in %s/%s", d.Into.Namespace, d.Into.Name, at,
			d.From.Namespace, d.From.Name), "derived")
	}
}
