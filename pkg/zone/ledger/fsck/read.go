// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

func (c *check) checkFormat() error {
	key := c.layout.Config()
	r, err := c.get(key)
	if err != nil {
		return err
	}
	var have struct{ Format, HashAlgorithm int }
	text := "nothing"
	if len(r.Kvs) > 0 {
		text = string(r.Kvs[0].Value)
	}

	err = json.Unmarshal([]byte(text), &have)
	if err != nil || have.Format < ledger.FirstFormat || have.HashAlgorithm != sethash.Algorithm {
		c.reportDamage(key, "format", text, "format %d, hash algorithm %d", ledger.Format, sethash.Algorithm)
	} else if have.Format < ledger.Format {
		c.reportPending(key, "format", fmt.Sprintf("format %d", have.Format), "format %d: the next server that starts migrates the "+
			"store, and other differences may follow from that", ledger.Format)
	}

	from, ends := c.layout.Internal(), make([]string, 0, len(layout.Rooms)+1)
	for _, room := range layout.Rooms {
		ends = append(ends, c.layout.Room(room))
	}
	ends = append(ends, clientv3.GetPrefixRangeEnd(from))
	for _, end := range ends {
		err := c.eachBetween(from, end, func(k string, _ *mvccpb.KeyValue) {
			if c.report.Keys++; k != key && k != c.layout.YieldRequest() {
				c.reportDamage(k, "format", "a key", "no key of this kind in format %d", ledger.Format)
			}
		}, clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		from = clientv3.GetPrefixRangeEnd(end)
	}

	return nil
}

func (c *check) readZones() error {
	unread := func(key, name string) {
		namespace, object, _ := strings.Cut(name, "/")
		c.unread.keysByRef[law.Ref{Namespace: namespace, Name: object}] = key
	}

	return eachObject(c, "zones", "I2", c.config.Zones, unread, func(key string, o *v1alpha1.Zone) {
		c.report.Zones++
		z, err := lawform.Zone(o)
		spec, err1 := lawform.ZoneSpec(o)
		if err = cmp.Or(err, err1); err != nil {
			c.unread.keysByUID[string(o.UID)] = key
			c.reportDamage(key, "I2", err.Error(), "a Zone the law can read")
			return
		}

		x := &zone{Zone: z, key: key, created: o.CreationTimestamp.Unix(), spec: spec, status: o.Status, owners: map[name.Rel]*law.Owner{},
			counts: map[string]int64{}, delegatedRules: map[string][]law.DelegatedRule{}, rulesByNamespace: map[string][]rules.Rule{}}
		if other := c.zones[z.UID]; other != nil {
			c.reportDamage(key, "I2", "uid "+z.UID, "a uid of its own, not that of %s", other.key)
			return
		}

		c.zones[z.UID] = x
		c.zonesByRef[law.Ref{Namespace: z.Namespace, Name: z.Name}] = x
		if z.Pending {
			return
		}
		p := place{z.View, z.FQDN()}
		if other := c.zonesByName[p]; other != nil {
			c.reportDamage(key, "S1.5", z.FQDN().String(), "a name of its own, not that of %s", other.key)
			return
		}

		c.zonesByName[p] = x
	})
}

func (c *check) readNames() error {
	err := eachKey(c, "names", func(key, _ string, h *law.Holding) {
		z := c.zones[h.UID]
		switch {
		case z == nil && c.unread.countUnread(h.Ref):
		case z == nil, z.Pending:
			c.reportDamage(key, "S1.5", fmt.Sprintf("held by zone %s/%s, uid %s", h.Namespace, h.Name, h.UID),
				"nothing: there is no such zone")
		case key != c.nameKey(z):
			c.reportDamage(key, "S1.5", "held by "+z.key, "nothing: that zone holds %s", c.nameKey(z))
		case h.Ref != z.Ref:
			c.reportDamage(key, "S1.5", fmt.Sprintf("%+v", h.Ref), "%+v", z.Ref)
			fallthrough
		default:
			z.holding = h
		}
	})
	if err != nil {
		return err
	}

	for _, z := range c.zones {
		if z.holding == nil && !z.Pending {
			c.reportDamage(c.nameKey(z), "S1.5", "nothing", "held by %s", z.key)
			z.holding = &law.Holding{Ref: z.Ref} // for the other checks
		}
	}

	c.sortedNames = slices.SortedFunc(maps.Keys(c.zonesByName), comparePlaces)
	return nil
}

func comparePlaces(x, y place) int {
	return cmp.Or(cmp.Compare(x.view, y.view), cmp.Compare(x.fqdn.Key(), y.fqdn.Key()))
}

func (c *check) nameKey(z *zone) string { return c.layout.Key(law.HoldingKey(z.View, z.FQDN())) }

func (c *check) readOutbox() error {
	err := eachKey(c, "outbox", func(key, rest string, w *law.Work) {
		c.require(rest == w.ID, key, "I4", "work "+w.ID, "the work that the key names")
		c.works[w.ID] = w
		if w.Purge != "" {
			c.purging[w.Purge] = true
			z := c.zones[w.Purge]
			c.require(z == nil || w.Ended != nil && z.Pending && z.Ending, key, "I4", "purges the keys of zone "+w.Purge,
				"nothing purged: that zone exists")
		}
		c.reportPending(key, "I4", w.Reason, "carried out")
		c.checkZonesOf(w)
	})
	for _, z := range c.zonesByName {
		for _, mark := range z.holding.Works {
			c.checkMark(z, mark)
		}
	}
	return err
}

// checkZonesOf requires a mark of a work on each of its zones. A removed zone has no mark.
func (c *check) checkZonesOf(w *law.Work) {
	named := w.Zones
	// A work of trials lists its first zone only to order candidates, and a later step marks the zone.
	if w.IsTrial() || onlyRetries(w) {
		named = named[min(1, len(named)):]
	}
	for _, p := range named {
		if z := c.zoneInEffect(p.UID); z != nil {
			marked := slices.ContainsFunc(z.holding.Works, func(s law.CascadeMark) bool { return s.ID == w.ID })
			c.require(marked, c.nameKey(z), "I4", "no mark of work "+w.ID, "marked: the work names the zone")
		}
	}
}

// checkMark requires the work of a mark on a zone, and the zone among those of the work.
func (c *check) checkMark(z *zone, mark law.CascadeMark) {
	w := c.works[mark.ID]
	if w == nil {
		c.reportDamage(c.nameKey(z), "I4", "marked by work "+mark.ID, "no mark: there is no such work, so the mark would stay")
		return
	}
	isNamed := slices.ContainsFunc(w.Zones, func(p law.Place) bool { return p.UID == z.UID })
	c.require(isNamed, c.layout.Room("outbox")+mark.ID, "I4", "a work that does not name the zone "+z.key,
		"named: it is marked by the work")
}

func onlyRetries(w *law.Work) bool {
	retries := []law.ScanKind{law.ScanWaiting, law.ScanZones, law.ScanPending}
	return w.Purge == "" && len(w.Scans) > 0 && !slices.ContainsFunc(w.Scans, func(s law.Scan) bool {
		return !slices.Contains(retries, s.Kind)
	})
}

func (c *check) readPendingCuts() error {
	return eachKey(c, "debts", func(key, _ string, d *law.Derivation) {
		c.require(key == c.layout.Derivation(*d), key, "I4", d.Into.UID+"/"+d.From.UID, "the pair that the key names")
		if d.PTR {
			c.pendingPTR = append(c.pendingPTR, *d)
			return
		}
		c.derivations[edge{d.Into.UID, d.From.UID}] = *d
	})
}

func (c *check) readWithdrawals() error {
	return eachZoneKey(c, "withdrawn", func(z *zone, _, namespace string, w *law.Withdrawal) {
		c.withdrawals[law.WithdrawalKey(z.UID, namespace)] = w
	})
}

func (c *check) readCuts() error {
	return eachZoneKey(c, "cuts", func(z *zone, _, child string, cut *law.CountedCut) {
		c.cuts[edge{z.UID, child}] = cut
		z.addCut(cut)
	})
}

// zoneInEffect returns a zone that is not pending, or nil if there is none.
func (c *check) zoneInEffect(uid string) *zone {
	if z := c.zones[uid]; z != nil && !z.Pending {
		return z
	}
	return nil
}

// existingZone returns the zone in effect of a key, or nil. The key is damage if nothing explains the lack of the zone.
func (c *check) existingZone(key, uid string) *zone {
	z := c.zoneInEffect(uid)
	if z == nil && !c.purging[uid] && !c.unread.countUnread(law.Ref{UID: uid}) {
		c.reportDamage(key, "I4", "a key of zone "+uid, "nothing: there is no such zone, and no work purges its keys")
	}
	return z
}

func (c *check) readRecords() error {
	return eachObject(c, "records", "I2", c.config.Records, nil, func(key string, o *v1alpha1.Record) {
		c.report.Records++
		l, err := lawform.Record(o)
		if err != nil {
			c.reportDamage(key, "I2", err.Error(), "a Record the law can read")
			return
		}

		r := &record{Record: l, key: key, view: o.Status.View, serial: o.Status.Serial, admission: rules.Admission(o.Status.Admission),
			adoptedBy: o.Status.ZoneRef, isAdopted: meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionAdopted)}
		if adopted := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionAdopted); adopted != nil {
			r.moving = adopted.Reason == v1alpha1.ReasonMoving
		}
		r.dueAt = lawform.DueAt(o)
		if end := o.Status.EndsAt; end != nil {
			r.endsAt = end.Unix()
		}

		if o.Status.FQDN != "" {
			if r.fqdn, err = name.Parse(o.Status.FQDN); err != nil {
				c.reportDamage(key, "S1.2", o.Status.FQDN, "a canonical name in status.fqdn")
				return
			}
		}

		c.records = append(c.records, r)
		c.placeRecord(r)
	})
}

func (c *check) placeRecord(r *record) {
	c.require(r.isAdopted == (r.adoptedBy != nil), r.key, "S6.12", "the condition Adopted", "status.zoneRef says the same")
	if r.adoptedBy == nil {
		return
	}
	of := law.Ref{Namespace: r.adoptedBy.Namespace, Name: r.adoptedBy.Name, UID: string(r.adoptedBy.UID)}
	z := c.zoneInEffect(of.UID)
	if z == nil {
		if !c.unread.countUnread(of) {
			c.reportDifference(c.purging[of.UID], r.key, "S2.5", "adopted by zone "+encodeText(of), "released: there is no such zone")
		}
		return
	}

	c.require(of == z.Ref, r.key, "S6.12", "adopted by zone "+encodeText(of), "%s", encodeText(z.Ref))
	fqdn, err := name.ParseIn(r.DomainName, z.FQDN())
	owner, isBelow := fqdn.Rel(z.FQDN())
	if !isBelow { // as after an error
		fault := cmp.Or(err, errors.New("it lies outside"))
		c.reportDamage(r.key, "S2.1", fmt.Sprintf("%q in zone %s: %v", r.DomainName, z.FQDN(), fault),
			"a name at or below that of its zone")
		return
	}

	r.zone, r.owner = z, owner
	z.addRecord(r)
	stated := r.fqdn
	if r.fqdn = fqdn; stated != fqdn { // a cascade has yet to write it
		c.reportDifference(c.isWorkPending(r), r.key, "S6.12", "status.fqdn is another", "%s", fqdn)
	}

	c.require(r.view == z.View, r.key, "S1.4", "status.view "+r.view, "%q, the zone's", z.View)
	c.require(!isAhead(r.serial, z.status.Serial), r.key, "S6.12", "status.serial", "%d or less, the zone's", z.status.Serial)
}

func (c *check) readDelegations() error {
	return eachObject(c, "delegations", "S4.3", c.config.Delegations, nil, c.placeDelegation)
}

// placeDelegation gives the zone of a Delegation its rule, or notes a Delegation that waits for a zone.
func (c *check) placeDelegation(key string, o *v1alpha1.Delegation) {
	rule, err := lawform.DelegationRule(o)
	if err != nil {
		c.reportDamage(key, "S4.3", err.Error(), "a Delegation the law can read")
		return
	}

	accepted := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionAccepted)
	c.require(accepted != nil && (o.Status.ZoneRef != nil) == (accepted.Status == "True"), key, "S4.3", encodeText(accepted), "the "+
		"condition Accepted says the same as status.zoneRef")
	named := law.Ref{Namespace: o.Namespace, Name: o.Spec.ZoneRef.Name}
	if o.Status.ZoneRef == nil {
		c.waitingDelegations = append(c.waitingDelegations, waiter{law.Ref{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)},
			o.CreationTimestamp.Unix(), &law.Waiting{Zone: &named}})
		if z := c.zonesByRef[named]; z != nil && !z.Pending && accepted != nil && accepted.Reason == v1alpha1.ReasonZoneNotFound {
			refersHere := func(s *law.Scan) bool { return s.Kind == law.ScanReferring && refText(s.Target) == refText(&named) }
			c.reportDifference(c.anyScan(refersHere), key, "S4.3", "in force nowhere", "in force in zone %s, which exists", z.key)
		}
		return
	}

	uid := string(o.Status.ZoneRef.UID)
	z := c.zoneInEffect(uid)
	if z == nil {
		if !c.unread.countUnread(law.Ref{Namespace: named.Namespace, Name: named.Name, UID: uid}) {
			c.reportDifference(c.purging[uid], key, "S4.3", "in force in zone "+uid, "in force nowhere: there is no such zone")
		}
		return
	}

	c.require(refText(&named) == refText(&z.Ref), key, "S4.3", "in force in zone "+z.key, "in force in the zone "+
		"that it names, %s/%s", named.Namespace, named.Name)
	z.delegationCount++
	for _, ns := range rule.Namespaces {
		z.delegatedRules[ns] = append(z.delegatedRules[ns], law.DelegatedRule{Name: o.Name, UID: string(o.UID), Rule: rule})
	}
	z.addReservations(&rule)
}

func (c *check) readServers() error {
	if c.config.Further == nil {
		return nil
	}
	for _, resource := range layout.FleetResources {
		if err := eachObject(c, resource, "S11.1", c.config.Further(resource), nil, func(string, metav1.Object) {}); err != nil {
			return err
		}
	}
	return nil
}
