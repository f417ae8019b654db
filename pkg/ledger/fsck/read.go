// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// checkFormat reads the config key and looks for keys of rooms that this
// format does not have.
func (c *check) checkFormat() error {
	key := c.layout.Config()
	r, err := c.get(key)
	if err != nil {
		return err
	}
	if len(r.Kvs) == 0 {
		c.reportDamage(key, "format", "nothing", "format %d, hash algorithm %d", ledger.Format, sethash.Algorithm)
	} else {
		var have struct {
			Format        int `json:"format"`
			HashAlgorithm int `json:"hashAlgorithm"`
		}
		err := json.Unmarshal(r.Kvs[0].Value, &have)
		switch {
		case err != nil || have.Format < ledger.FirstFormat || have.HashAlgorithm != sethash.Algorithm:
			c.reportDamage(key, "format", string(r.Kvs[0].Value), "format %d, hash algorithm %d", ledger.Format, sethash.Algorithm)
		case have.Format < ledger.Format:
			c.reportOwed(key, "format", fmt.Sprintf("format %d", have.Format), "format %d: the next server that starts migrates the "+
				"store, and what is said here of other keys may come of that", ledger.Format)
		}
	}
	from := c.layout.Internal()
	ends := make([]string, 0, len(layout.Rooms)+1)
	starts := append(slices.Clone(layout.Rooms), "")
	for i := range starts {
		if starts[i] == "" {
			ends = append(ends, clientv3.GetPrefixRangeEnd(c.layout.Internal()))
		} else {
			ends = append(ends, c.layout.Room(starts[i]))
		}
	}
	for i, end := range ends {
		err := c.eachBetween(from, end, func(k string, _ *mvccpb.KeyValue) error {
			if c.report.Keys++; k != key && k != c.layout.Asked() {
				c.reportDamage(k, "format", "a key", "no key of this kind in format %d", ledger.Format)
			}
			return nil
		}, clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		if starts[i] != "" {
			from = clientv3.GetPrefixRangeEnd(c.layout.Room(starts[i]))
		}
	}
	return nil
}

func (c *check) readZones() error {
	return c.eachKey(c.layout.Objects("zones"), func(key string, kv *mvccpb.KeyValue) error {
		c.report.Zones++
		o := &v1alpha1.Zone{}
		if err := c.config.Zones.Decode(c.ctx, key, kv.Value, kv.ModRevision, o); err != nil {
			c.reportDamage(key, "I2", err.Error(), "a Zone")
			namespace, object, _ := strings.Cut(strings.TrimPrefix(key, c.layout.Objects("zones")), "/")
			c.unread.named[law.Ref{Namespace: namespace, Name: object}] = key
			return nil
		}
		z, err := objects.LawZone(o)
		if err != nil {
			c.unread.uids[string(o.UID)] = key
			c.reportDamage(key, "I2", err.Error(), "a Zone the law can read")
			return nil
		}
		x := &zone{Zone: z, key: key, created: o.CreationTimestamp.Unix(), spec: o.Spec, status: o.Status,
			deleting: o.DeletionTimestamp != nil,
			owners:   map[name.Rel]*law.Owner{}, counts: map[string]int64{}}
		x.spec.Delegations = nil // parsed in z; the text is not needed
		if key != c.layout.Zone(o.Namespace, o.Name) {
			c.reportDamage(key, "I2", o.Namespace+"/"+o.Name, "the object that the key names")
		}
		if other := c.zones[z.UID]; other != nil {
			c.reportDamage(key, "I2", "uid "+z.UID, "a uid of its own, not that of %s", other.key)
			return nil
		}
		c.zones[z.UID] = x
		c.objects[law.Ref{Namespace: z.Namespace, Name: z.Name}] = x
		if z.Pending {
			return nil
		}
		p := place{z.View, z.FQDN()}
		if other := c.names[p]; other != nil {
			c.reportDamage(key, "S1.6", z.FQDN().String(), "a name of its own, not that of %s", other.key)
			return nil
		}
		c.names[p] = x
		return nil
	})
}

// readNames compares names/ with the zones that stand.
func (c *check) readNames() error {
	room := c.layout.Room("names")
	err := c.eachKey(room, func(key string, kv *mvccpb.KeyValue) error {
		c.report.Keys++
		var h law.Holding
		if !c.parseValue(key, kv, &h) {
			return nil
		}
		z := c.zones[h.UID]
		if z == nil && c.unread.countUnread(h.Ref) {
			return nil
		}
		if z == nil || z.Pending {
			c.reportDamage(key, "S1.6", fmt.Sprintf("held by zone %s/%s, uid %s", h.Namespace, h.Name, h.UID),
				"nothing: no such zone stands")
			return nil
		}
		if want := c.nameKey(z); key != want {
			c.reportDamage(key, "S1.6", "held by "+z.key, "nothing: that zone holds %s", want)
			return nil
		}
		if h.Ref != z.Ref {
			c.reportDamage(key, "S1.6", fmt.Sprintf("%+v", h.Ref), "%+v", z.Ref)
		}
		z.holding = &h
		return nil
	})
	if err != nil {
		return err
	}
	for p, z := range c.names {
		c.below = append(c.below, p)
		if z.holding == nil {
			c.reportDamage(c.nameKey(z), "S1.6", "nothing", "held by %s", z.key)
			z.holding = &law.Holding{Ref: z.Ref} // so that the rest can be checked
		}
	}
	slices.SortFunc(c.below, comparePlaces)
	return nil
}

func comparePlaces(x, y place) int {
	return cmp.Or(cmp.Compare(x.view, y.view), cmp.Compare(x.fqdn.Key(), y.fqdn.Key()))
}

func (c *check) nameKey(z *zone) string { return c.layout.Key(law.HoldingKey(z.View, z.FQDN())) }

func (c *check) parseValue(key string, kv *mvccpb.KeyValue, into any) bool {
	if err := json.Unmarshal(kv.Value, into); err != nil {
		c.reportDamage(key, "I2", fmt.Sprintf("%.200q", kv.Value), "a %T: %v", into, err)
		return false
	}
	return true
}

// readOutbox takes in the works in progress and compares them with their marks
// at zones (I4, S7.2).
func (c *check) readOutbox() error {
	room := c.layout.Room("outbox")
	err := c.eachKey(room, func(key string, kv *mvccpb.KeyValue) error {
		c.report.Keys++
		var w law.Work
		if !c.parseValue(key, kv, &w) {
			return nil
		}
		if key != room+w.ID {
			c.reportDamage(key, "I4", "work "+w.ID, "the work that the key names")
		}
		c.works[w.ID] = &w
		if w.Purge != "" {
			c.purging[w.Purge] = true
			if z := c.zones[w.Purge]; z != nil && !(w.Ended != nil && z.Pending && z.Ending) {
				c.reportDamage(key, "I4", "purges the keys of zone "+z.key, "nothing purged: that zone exists")
			}
		}
		c.reportOwed(key, "I4", w.Reason, "carried out")
		for i, p := range w.Zones {
			z := c.zones[p.UID]
			if z == nil || z.Pending {
				continue // gone since; nothing to take from it
			}
			if i == 0 && onlyRetries(&w) {
				continue // named for its namespace to come first; the step that first touches it marks it (S7.2)
			}
			if !slices.ContainsFunc(z.holding.Works, func(s law.StandingWork) bool { return s.ID == w.ID }) {
				c.reportDamage(c.nameKey(z), "I4", "no mark of work "+w.ID, "marked: the work names the zone")
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, z := range c.names {
		for _, s := range z.holding.Works {
			w := c.works[s.ID]
			if w == nil {
				c.reportDamage(c.nameKey(z), "I4", "marked by work "+s.ID, "no mark: there is no such work, so nothing would take it away")
			} else if !slices.ContainsFunc(w.Zones, func(p law.Place) bool { return p.UID == z.UID }) {
				c.reportDamage(room+s.ID, "I4", "a work that does not name the zone "+z.key, "named: it is marked by the work")
			}
		}
	}
	return nil
}

// onlyRetries reports whether the work only decides anew what waits and which the parents are, because something in
// their way went.
func onlyRetries(w *law.Work) bool {
	return w.Purge == "" && len(w.Scans) > 0 && !slices.ContainsFunc(w.Scans, func(s law.Scan) bool {
		return s.Kind != law.ScanWaiting && s.Kind != law.ScanZones && s.Kind != law.ScanPending
	})
}

func (c *check) readPendingCuts() error {
	room := c.layout.Room("debts")
	return c.eachKey(room, func(key string, kv *mvccpb.KeyValue) error {
		c.report.Keys++
		var d law.PendingCut
		if !c.parseValue(key, kv, &d) {
			return nil
		}
		if key != room+d.Parent.UID+"/"+d.Child.UID {
			c.reportDamage(key, "I4", d.Parent.UID+"/"+d.Child.UID, "the pair that the key names")
		}
		c.pendingCuts[edge{d.Parent.UID, d.Child.UID}] = d
		return nil
	})
}

// readWithdrawn reads which periods run (S2.5, S3.4).
func (c *check) readWithdrawn() error {
	return c.eachKey(c.layout.Room("withdrawn"), func(key string, kv *mvccpb.KeyValue) error {
		c.report.Keys++
		k, err := c.layout.ParseWithdrawal(key)
		if err != nil {
			c.reportDamage(key, "I2", "a key of withdrawn/", "withdrawn/<zone>/<namespace>")
			return nil
		}
		var w law.Withdrawal
		if c.standingZone(key, k.Object) != nil && c.parseValue(key, kv, &w) {
			c.withdrawn[k] = &w
		}
		return nil
	})
}

func (c *check) readCuts() error {
	room := c.layout.Room("cuts")
	return c.eachKey(room, func(key string, kv *mvccpb.KeyValue) error {
		c.report.Keys++
		parent, child, ok := strings.Cut(key[len(room):], "/")
		if !ok {
			c.reportDamage(key, "I2", "a key of cuts/", "cuts/<parent>/<child>")
			return nil
		}
		z := c.standingZone(key, parent)
		if z == nil {
			return nil
		}
		var cut law.CountedCut
		if c.parseValue(key, kv, &cut) {
			c.cuts[edge{parent, child}] = &cut
			z.addCut(&cut)
		}
		return nil
	})
}

// standingZone returns the zone that a key belongs to; nil where the zone is gone, which is damage unless a work
// purges it.
func (c *check) standingZone(key, uid string) *zone {
	z := c.zones[uid]
	if z != nil && !z.Pending {
		return z
	}
	if !c.purging[uid] && !c.unread.countUnread(law.Ref{UID: uid}) {
		c.reportDamage(key, "I4", "a key of zone "+uid, "nothing: no such zone stands, and no work purges its keys")
	}
	return nil
}

func (c *check) readRecords() error {
	return c.eachKey(c.layout.Objects("records"), func(key string, kv *mvccpb.KeyValue) error {
		c.report.Records++
		o := &v1alpha1.Record{}
		if err := c.config.Records.Decode(c.ctx, key, kv.Value, kv.ModRevision, o); err != nil {
			c.reportDamage(key, "I2", err.Error(), "a Record")
			return nil
		}
		l, err := objects.LawRecord(o)
		if err != nil {
			c.reportDamage(key, "I2", err.Error(), "a Record the law can read")
			return nil
		}
		if key != c.layout.Record(o.Namespace, o.Name) {
			c.reportDamage(key, "I2", o.Namespace+"/"+o.Name, "the object that the key names")
		}
		r := &record{Record: l, key: key, view: o.Status.View, serial: o.Status.Serial,
			adopted: o.Status.ZoneRef, claims: meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionAdopted)}
		if adopted := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionAdopted); adopted != nil {
			r.moving = adopted.Reason == v1alpha1.ReasonMoving
		}
		if end := o.Status.EndsAt; end != nil {
			r.endsAt = end.Unix()
		}
		if o.Status.FQDN != "" {
			if r.fqdn, err = name.Parse(o.Status.FQDN); err != nil {
				c.reportDamage(key, "S1.3", o.Status.FQDN, "a canonical name in status.fqdn")
				return nil
			}
		}
		c.records = append(c.records, r)
		c.placeRecord(r)
		return nil
	})
}

// placeRecord puts an adopted record into its zone, comparing its status on the way (S2, S6.7).
func (c *check) placeRecord(r *record) {
	if r.claims != (r.adopted != nil) {
		c.reportDamage(r.key, "S6.7", fmt.Sprintf("condition Adopted is %t", r.claims), "status.zoneRef says the same")
	}
	if r.adopted == nil {
		return
	}
	z := c.zones[string(r.adopted.UID)]
	switch {
	case z == nil && c.unread.countUnread(law.Ref{Namespace: r.adopted.Namespace, Name: r.adopted.Name, UID: string(r.adopted.UID)}):
		return
	case z == nil || z.Pending:
		if !c.purging[string(r.adopted.UID)] {
			c.reportDamage(r.key, "S2.5", fmt.Sprintf("adopted by zone %s/%s, uid %s", r.adopted.Namespace, r.adopted.Name, r.adopted.UID),
				"released: no such zone stands, and no work releases its records")
		} else {
			c.reportOwed(r.key, "S2.5", "adopted by a removed zone", "released")
		}
		return
	case r.adopted.Namespace != z.Namespace || r.adopted.Name != z.Name:
		c.reportDamage(r.key, "S6.7", r.adopted.Namespace+"/"+r.adopted.Name, "%s/%s, the zone with that uid", z.Namespace, z.Name)
	}
	var err error
	var fqdn name.Name
	if r.Absolute() {
		if fqdn, err = name.Parse(r.DomainName); err == nil {
			var ok bool
			if r.owner, ok = fqdn.Rel(z.FQDN()); !ok {
				err = fmt.Errorf("it is not at or below %s", z.FQDN())
			}
		}
	} else if r.owner, err = name.ParseRel(r.DomainName); err == nil {
		fqdn, err = r.owner.In(z.FQDN())
	}
	if err != nil {
		c.reportDamage(r.key, "S2.1", fmt.Sprintf("%q in zone %s: %v", r.DomainName, z.FQDN(), err), "a name of its zone")
		return
	}
	r.zone = z
	z.addRecord(r)
	stated := r.fqdn
	if r.fqdn = fqdn; stated != fqdn { // a cascade has yet to say so
		c.reportDifference(c.isCovered(r), r.key, "S6.7", "status.fqdn is another", "%s", fqdn)
	}
	if r.view != z.View {
		c.reportDamage(r.key, "S1.6", "status.view "+r.view, "%q, the zone's", z.View)
	}
	if isAhead(r.serial, z.status.Serial) {
		c.reportDamage(r.key, "S6.7", fmt.Sprintf("status.serial %d", r.serial), "none ahead of the zone's, %d", z.status.Serial)
	}
}

// reportDifference reports a difference as owed where a work explains it.
func (c *check) reportDifference(excused bool, key string, rule Rule, have, want string, args ...any) {
	if excused {
		c.reportOwed(key, rule, have, want, args...)
	} else {
		c.reportDamage(key, rule, have, want, args...)
	}
}
