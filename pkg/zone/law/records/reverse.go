// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// PTRInput is the input of DecidePTR, which updates the PTR of names of other zones in a reverse zone.
type PTRInput struct {
	Zone  *law.Zone // the reverse zone
	Names []AddressedName
	// AllOf is the UID of a zone of whose names all are derived, these among them, or "".
	AllOf string
	Now   time.Time
	By    string // user
	Payer string // namespace
	// Own is true for an act of the zone's own namespace: removed RRsets count towards a mass deletion.
	Own bool
}

// AddressedName is a name of another zone, with the addresses of its Records that the reverse zone covers.
type AddressedName struct {
	From      law.Place // the other zone
	Owner     name.Rel
	Addresses []Address
}

func (n *AddressedName) fqdn() name.Name {
	fqdn, _ := n.Owner.In(n.From.FQDN)
	return fqdn
}

// Address is an address of a name. Since is in Unix nanoseconds, for an address that is new to the reverse zone.
type Address struct {
	Owner  name.Rel // in the reverse zone
	Since  int64
	Tenant bool
}

// AddAddresses adds the addresses of a Record that the reverse zone into covers. Without at, a time in Unix
// nanoseconds, the Record's age counts.
func AddAddresses(found []Address, into *law.Zone, r *law.Record, at int64) []Address {
	at = cmp.Or(at, time.Unix(r.Created, 0).UnixNano())
	for _, v := range r.Values {
		address, ok := law.AddressOf(v)
		if !ok || !into.Reverse.Covers(into.Namespace, r.Namespace, address) {
			continue
		}
		owner, ok := name.ReverseIn(name.ReverseAddr(address), into.FQDN())
		if !ok {
			continue
		}
		isTenant := r.Namespace != into.Namespace
		i := slices.IndexFunc(found, func(a Address) bool { return a.Owner == owner })
		if i < 0 {
			found = append(found, Address{owner, at, isTenant})
		} else { // another Record of the name has the address, too
			found[i].Since, found[i].Tenant = min(found[i].Since, at), found[i].Tenant && isTenant
		}
	}
	return found
}

// maxPTRChanges bounds the addresses that a transaction changes, each by three keys.
const maxPTRChanges = 16

// DecidePTR plans the step from the stored PTR to the PTR of the names' present addresses. The result done counts the
// names; others need a further decision.
func DecidePTR(seen *law.Facts, ask PTRInput) (out law.Outcome, done int) {
	out = law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		d := ptrDecision{Reading: r, ask: ask, cuts: map[name.Rel]*cutChange{}}
		plan, refusal := d.decidePTR()
		done = d.done
		return plan, refusal
	})
	return out, done
}

type ptrDecision struct {
	*law.Reading
	ask   PTRInput
	done  int
	cuts  map[name.Rel]*cutChange
	order []name.Rel // of cuts
	plan  law.Plan
}

type cutChange struct{ before, after *law.CountedCut }

// decidePTR returns the write of the reverse zone. An empty plan means that the zone's data stay the same.
func (d *ptrDecision) decidePTR() (*law.Plan, *law.Refusal) {
	// 1. Update the names at each address, as many as fit into a transaction.
	z := d.ask.Zone
	holding := d.HoldingOf(z)
	d.readFacts()
	for _, n := range d.ask.Names {
		// A zone that has lost its name, or is no longer in spec.reverse, has no PTR here.
		h := law.Get[law.Holding](d.Reading, law.HoldingKey(n.From.View, n.From.FQDN))
		if h == nil || h.UID != n.From.UID || !slices.ContainsFunc(h.Reverse, func(l law.ReverseLink) bool { return l.UID == z.UID }) {
			n.Addresses = nil
		}
		if !d.countName(n) {
			break
		}
		d.done++
	}
	if len(d.plan.Writes)+len(d.order) == 0 {
		return &d.plan, nil
	}

	// 2. Compare the PTR of these addresses.
	df := &Diff{}
	for _, owner := range d.order {
		d.comparePTR(df, owner, d.cuts[owner])
	}
	d.deriveFurther()
	slices.SortFunc(df.removed, content.Row.Compare)
	slices.SortFunc(df.added, content.Row.Compare)
	df.sortTTLs()

	// 3. A written PTR may have the same value, and hidden names change no content: then there is no serial.
	change := &law.ZoneChange{Zone: z, Holding: holding}
	if !df.empty() {
		if r := AdvanceZone(change, z, nil, df, d.ask.Now, nil, d.ask.By); r != nil {
			return nil, r
		}
	}
	change.CountDeletions(&d.plan, z, z, law.CountedStep{Own: d.ask.Own && !z.Terminating}, d.ask.Now.Unix())
	d.plan.Zone = change
	if change.Holding != holding {
		d.plan.Writes = append(d.plan.Writes, law.Write{Key: law.HoldingKey(z.View, z.FQDN()), Value: change.Holding})
	}
	return &d.plan, nil
}

// readFacts reads the addresses of all names, and the names at each address. Only a name that leaves an address needs a
// second round.
func (d *ptrDecision) readFacts() {
	d.RequireAll(PTRKeys(d.ask.Zone.UID, d.ask.Names))
	var former []law.Key
	for _, n := range d.ask.Names {
		former = appendOwnerKeys(former, d.ask.Zone.UID, d.storedOwners(n))
	}
	d.RequireAll(former)
}

// PTRKeys lists the facts that DecidePTR needs of names at their present addresses in a reverse zone.
func PTRKeys(zone string, names []AddressedName) (ks []law.Key) {
	for _, n := range names {
		ks = append(ks, law.AddressedKey(zone, n.From.UID, n.Owner), law.HoldingKey(n.From.View, n.From.FQDN))
		for _, a := range n.Addresses {
			ks = appendOwnerKeys(ks, zone, []name.Rel{a.Owner})
		}
	}
	return ks
}

func appendOwnerKeys(ks []law.Key, zone string, owners []name.Rel) []law.Key {
	for _, owner := range owners {
		ks = append(ks, law.CutKey(zone, law.PTRObject(owner)), law.OwnerKey(zone, owner))
		for up := range above(owner) {
			ks = append(ks, law.OwnerKey(zone, up))
		}
	}
	return ks
}

func (d *ptrDecision) storedOwners(n AddressedName) []name.Rel {
	if stored := law.Get[law.Addressed](d.Reading, law.AddressedKey(d.ask.Zone.UID, n.From.UID, n.Owner)); stored != nil {
		return stored.Owners
	}
	return nil
}

// listOwners lists the owners at which a name is counted, or is to be, sorted.
func (d *ptrDecision) listOwners(n AddressedName) []name.Rel {
	owners := slices.Clone(d.storedOwners(n))
	for _, a := range n.Addresses {
		owners = append(owners, a.Owner)
	}
	slices.SortFunc(owners, name.Rel.Compare)
	return slices.Compact(owners)
}

// countName counts a name at its present addresses, and no more at former ones. The result is false if the transaction
// is full.
func (d *ptrDecision) countName(n AddressedName) (done bool) {
	z, stored := d.ask.Zone, d.storedOwners(n)
	var has []name.Rel
	for _, owner := range d.listOwners(n) {
		var x *law.PTRName
		if i := slices.IndexFunc(n.Addresses, func(a Address) bool { return a.Owner == owner }); i >= 0 {
			a := n.Addresses[i]
			x = &law.PTRName{Name: n.fqdn(), Zone: n.From.UID, Since: a.Since, Tenant: a.Tenant}
		}
		if fits := d.countAt(owner, n, x); fits && x != nil || !fits && slices.Contains(stored, owner) {
			has = append(has, owner)
		}
	}
	if !slices.Equal(stored, has) {
		var value any
		if len(has) > 0 {
			value = &law.Addressed{Owners: has}
		}
		d.plan.Writes = append(d.plan.Writes, law.Write{Key: law.AddressedKey(z.UID, n.From.UID, n.Owner), Value: value})
	}
	return len(d.order) < maxPTRChanges
}

// countAt counts a name at an address, or no more if x is nil. The result is false if another transaction has to do so.
func (d *ptrDecision) countAt(owner name.Rel, n AddressedName, x *law.PTRName) (fits bool) {
	z := d.ask.Zone
	change := d.cuts[owner]
	isNew := change == nil
	if isNew {
		stored := law.Get[law.CountedCut](d.Reading, law.CutKey(z.UID, law.PTRObject(owner)))
		change = &cutChange{stored, stored}
	}
	after := change.after.WithName(n.From.UID, n.fqdn(), x)
	o := law.Get[law.Owner](d.Reading, law.OwnerKey(z.UID, owner))
	after = after.WithPTR(z.Reverse, owner, o.HidesPTR(owner) || hasDNAMEAbove(d.Reading, z, owner))
	if change.after.Equal(after) {
		return true
	}
	if isNew {
		if len(d.order) == maxPTRChanges {
			return false
		}
		d.cuts[owner], d.order = change, append(d.order, owner)
	}
	change.after = after
	return true
}

// comparePTR adds to df the PTR that come or go at an address, and plans the writes of its keys.
func (d *ptrDecision) comparePTR(df *Diff, owner name.Rel, c *cutChange) {
	z := d.ask.Zone
	stored := law.Get[law.Owner](d.Reading, law.OwnerKey(z.UID, owner))
	o := &ownerChange{owner, stored, stored.Clone()}
	df.compareSet(o, rdata.PTR, recountPTR(o, c.before, c.after))
	d.plan.Writes = append(d.plan.Writes, law.Write{Key: law.CutKey(z.UID, law.PTRObject(owner)), Value: cutFact(c.after.OrNil())})
	if !slices.EqualFunc(ownerCut(o.before), o.after.Cut, sameOwnerValue) {
		d.plan.Writes = append(d.plan.Writes, law.Write{Key: law.OwnerKey(z.UID, owner), Value: o.after.Fact()})
	}
}

// deriveFurther has all names derived again when the last stored name leaves an address that had more names than are
// stored: after the 100 names of a tenant, another's has the PTR.
func (d *ptrDecision) deriveFurther() {
	z := d.ask.Zone
	isLast := func(c *cutChange) bool { return c.before != nil && c.before.More && len(c.after.Names) == 0 }
	if z.Reverse == nil || !slices.ContainsFunc(d.order, func(owner name.Rel) bool { return isLast(d.cuts[owner]) }) {
		return
	}
	for _, object := range z.Reverse.Zones {
		forward := law.Get[law.Zone](d.Reading, law.ZoneKey(z.Namespace, object))
		if forward != nil && !forward.Pending && forward.UID != d.ask.AllOf {
			d.plan.DerivePTR(z.Ref, forward, name.Rel{}, law.Derivation{Own: d.ask.Own, By: d.ask.Payer})
		}
	}
}

// recountPTR counts the PTR of after at o instead of those of before, and returns the data of both.
func recountPTR(o *ownerChange, before, after *law.CountedCut) (texts []string) {
	count := func(c *law.CountedCut, n int) {
		if c == nil {
			return
		}
		for _, s := range c.Sets {
			o.after.CountCut(s, n)
			texts = append(texts, s.Data...)
		}
	}
	count(before, -1)
	count(after, 1)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// rehidePTR hides the derived PTR at a name behind data written there, or shows them when the data are gone. The
// results are the PTR that come or go, and the write of their key, or nil.
func rehidePTR(d *law.Reading, z *law.Zone, o *ownerChange) (texts []string, write []law.Write) {
	if z.Reverse == nil && !o.before.HasPTRCut() {
		return nil, nil
	}
	key := law.CutKey(z.UID, law.PTRObject(o.owner))
	before := law.Get[law.CountedCut](d, key)
	if before == nil {
		return nil, nil
	}
	after := before.WithPTR(z.Reverse, o.owner, o.after.HidesPTR(o.owner) || hasDNAMEAbove(d, z, o.owner))
	if before.Equal(after) {
		return nil, nil
	}
	return recountPTR(o, before, after), []law.Write{{Key: key, Value: after}}
}

// hasDNAMEAbove reports whether a DNAME takes away the names below it, so that none may have PTR (S5.7).
func hasDNAMEAbove(d *law.Reading, z *law.Zone, owner name.Rel) bool {
	for up := range above(owner) {
		if law.Get[law.Owner](d, law.OwnerKey(z.UID, up)).HasType(rdata.DNAME) {
			return true
		}
	}
	return false
}

// refuseDNAME refuses a DNAME in a reverse zone, where PTR may come below it at any time.
func (d *delta) refuseDNAME() *law.Refusal {
	if d.added.Type != rdata.DNAME || d.zone.Reverse == nil || d.keepsPlace() {
		return nil
	}
	return law.NewInvalid("spec.type", d.added.Type.String(), law.ReasonCNAMEConflict, "zone %s has spec.reverse, so PTR may come below "+
		"the DNAME (S16.3; write PTR Records by hand and remove spec.reverse, or delegate the names by NS)", d.zone.FQDN())
}

// derivePTR has the reverse zones of the zone derive the PTR of the record's names again, where its addresses change.
// When a DNAME leaves a reverse zone, PTR may come where it was.
func (d *delta) derivePTR(plan *law.Plan) {
	leavesDNAME := d.zone.Reverse != nil && d.removed != nil && d.removed.Type == rdata.DNAME
	if len(d.holding.Reverse) == 0 && !leavesDNAME {
		return
	}
	as := law.Derivation{Own: d.isOwnStep(), At: d.ask.Now.UnixNano(), By: cmp.Or(d.ask.CausedBy, d.ask.Namespace)}
	if d.ask.Derives {
		as.At = 0
	}
	for _, owner := range d.listReaddressed() {
		changed := d.changedAddresses(owner)
		for _, link := range d.holding.Reverse {
			if slices.ContainsFunc(changed, func(full name.Name) bool { _, ok := name.ReverseIn(full, link.FQDN); return ok }) {
				plan.DerivePTR(link.Ref, d.zone, owner, as)
			}
		}
	}

	if z := d.zone; leavesDNAME {
		for _, object := range z.Reverse.Zones {
			if forward := law.Get[law.Zone](d.Reading, law.ZoneKey(z.Namespace, object)); forward != nil && !forward.Pending {
				plan.DerivePTR(z.Ref, forward, name.Rel{}, as)
			}
		}
	}
}

// listReaddressed lists the record's names before and after. A wildcard is no name of an address.
func (d *delta) listReaddressed() (owners []name.Rel) {
	for _, c := range []*law.Contribution{d.removed, d.added} {
		if c != nil && !c.Owner.IsWildcard() && !slices.Contains(owners, c.Owner) {
			owners = append(owners, c.Owner)
		}
	}
	return owners
}

// changedAddresses returns the reverse names of the addresses that the record adds or removes at one of its names.
func (d *delta) changedAddresses(owner name.Rel) (names []name.Name) {
	before, after := addressesAt(d.removed, owner), addressesAt(d.added, owner)
	for _, address := range slices.Concat(before, after) {
		if d.ask.Derives || !slices.Contains(before, address) || !slices.Contains(after, address) {
			names = append(names, name.ReverseAddr(address))
		}
	}
	return names
}

func addressesAt(c *law.Contribution, owner name.Rel) (addresses []netip.Addr) {
	if c == nil || c.Owner != owner {
		return nil
	}
	for _, v := range c.Values {
		if address, ok := law.AddressOf(v); ok {
			addresses = append(addresses, address)
		}
	}
	return addresses
}
