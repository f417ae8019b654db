// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// isAhead compares serials as kept in objects (RFC 1982).
func isAhead(s, of int64) bool { return serial.Serial(s).Ahead(serial.Serial(of)) }

// readMembers compares members/ with the records that zones have, and gives each
// record its member: how it was admitted is nowhere else.
func (c *check) readMembers() error {
	room := c.layout.Room("members")
	byKey := map[string]*record{}
	for _, r := range c.records {
		if r.zone != nil {
			byKey[c.memberKey(r)] = r
		}
	}
	err := c.eachKey(room, func(key string, kv *mvccpb.KeyValue) error {
		c.report.Keys++
		uid, _, _ := strings.Cut(key[len(room):], "/")
		z := c.standingZone(key, uid)
		if z == nil {
			return nil
		}
		var m law.Member
		if !c.parseValue(key, kv, &m) {
			return nil
		}
		r := byKey[key]
		if r == nil {
			c.reportDamage(key, "I1", "a member", "nothing: no record of the zone stands there")
			return nil
		}
		r.member = &m
		if want := (law.Member{UID: r.UID, Admission: m.Admission, Created: r.Created}); m != want {
			c.reportDamage(key, "I1", encodeText(m), "%s", encodeText(want))
		}
		switch m.Admission {
		case law.AdmittedUnderscore, law.AdmittedShared, law.AdmittedLiteral, law.AdmittedPlain:
		default:
			c.reportDamage(key, "N4.17", "admission "+string(m.Admission), "underscore, shared, literal or plain")
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, r := range byKey {
		if r.member == nil {
			c.reportDamage(key, "I1", "nothing", "the record %s", r.key)
			r.member = &law.Member{UID: r.UID, Admission: law.AdmittedPlain, Created: r.Created}
		}
	}
	for _, r := range c.records {
		if r.zone != nil {
			r.zone.ownerAt(law.Base(r.owner)).CountClaim(r.Namespace, r.Namespace == r.zone.Namespace, r.member.Admission, 1)
		}
	}
	return nil
}

func (c *check) memberKey(r *record) string {
	return c.layout.Key(law.MemberKey(r.zone.UID, r.owner, r.Namespace, r.Name))
}

func encodeText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}

// checkKeys compares what records make in owners/, counts/ and orphans/.
func (c *check) checkKeys() error {
	if err := c.checkRoom("owners", "I1", c.checkOwner, func(z *zone, want func(string, string)) {
		for o, v := range z.owners {
			if len(v.Values)+len(v.Cut)+len(v.Claims) > 0 {
				want(c.layout.Key(law.OwnerKey(z.UID, o)), encodeText(v))
			}
		}
	}); err != nil {
		return err
	}
	if err := c.checkRoom("counts", "S5.6", c.checkCount, func(z *zone, want func(string, string)) {
		for ns, n := range z.counts {
			want(c.layout.Key(law.CountKey(z.UID, ns)), fmt.Sprint(n))
		}
	}); err != nil {
		return err
	}
	if err := c.checkGiven(); err != nil {
		return err
	}
	return c.checkOrphans()
}

// checkRoom goes through the keys of one kind: each present one is checked, and each
// wanted one must have been present.
func (c *check) checkRoom(room string, rule Rule, present func(z *zone, rest, key string, kv *mvccpb.KeyValue),
	wanted func(z *zone, want func(key, value string))) error {
	prefix := c.layout.Room(room)
	seen := map[string]bool{}
	err := c.eachKey(prefix, func(key string, kv *mvccpb.KeyValue) error {
		c.report.Keys++
		uid, rest, _ := strings.Cut(key[len(prefix):], "/")
		if z := c.standingZone(key, uid); z != nil {
			seen[key] = true
			present(z, rest, key, kv)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, z := range c.names {
		wanted(z, func(key, value string) {
			if !seen[key] {
				c.reportDamage(key, rule, "nothing", "%s", value)
			}
		})
	}
	return nil
}

func (c *check) checkOwner(z *zone, rest, key string, kv *mvccpb.KeyValue) {
	owner, err := name.RelFromKey(rest)
	var have law.Owner
	if err != nil {
		c.reportDamage(key, "I1", err.Error(), "an owner")
		return
	}
	if !c.parseValue(key, kv, &have) {
		return
	}
	want := z.owners[owner]
	if want == nil {
		want = &law.Owner{}
	}
	empty := len(have.Values) == 0 && len(have.Cut) == 0 && len(have.Claims) == 0
	if !slices.EqualFunc(have.Values, want.Values, sameValue) || !slices.EqualFunc(have.Cut, want.Cut, sameValue) ||
		empty {
		c.reportDamage(key, "I1", encodeText(have), "%s", encodeText(want))
	} else if !slices.Equal(have.Claims, want.Claims) {
		c.reportDamage(key, "N4.7", encodeText(have.Claims), "%s", encodeText(want.Claims))
	}
}

func (c *check) checkCount(z *zone, ns, key string, kv *mvccpb.KeyValue) {
	var have law.Count
	if !c.parseValue(key, kv, &have) {
		return
	}
	if want := z.counts[ns]; have.Records != want || want == 0 {
		c.reportDamage(key, "S5.6", fmt.Sprintf("%d records", have.Records), "%d", want)
	}
}

// checkOrphans compares both indexes of what waits.
func (c *check) checkOrphans() error {
	want := map[string]string{}
	waits := map[string]*record{}
	for _, r := range c.records {
		if r.adopted != nil {
			continue
		}
		for _, key := range c.layout.Waiting(&law.Waiting{View: r.view, FQDN: r.fqdn, Zone: r.ZoneRef}, "records", r.Namespace, r.Name) {
			want[key], waits[key] = layout.WaitingValue(r.UID, r.Created, r.moving), r
		}
	}
	for _, z := range c.zones {
		if z.Pending {
			for _, key := range c.layout.Waiting(&law.Waiting{View: z.spec.View, FQDN: z.Wanted, Zone: z.targetZone()}, "zones",
				z.Namespace, z.Name) {
				want[key] = layout.WaitingValue(z.UID, z.created, false)
			}
		}
	}
	c.wantedOrphans(want)
	err := c.eachKey(c.layout.Room("orphans"), func(key string, kv *mvccpb.KeyValue) error {
		c.report.Keys++
		have := string(kv.Value)
		var w layout.Waiter
		if r := waits[key]; r != nil && layout.Decode(kv.Value, &w) == nil && w.KeptOut != "" { // no other key says so (S2.9)
			r.keptOut, w.KeptOut = w.KeptOut, ""
			have = string(layout.Encode(w))
		}
		if w, ok := want[key]; !ok {
			c.reportDamage(key, "S2.3", string(kv.Value), "nothing: nothing unadopted waits there")
		} else if w != have {
			c.reportDamage(key, "S2.3", string(kv.Value), "%s", w)
		}
		delete(want, key)
		return nil
	})
	for key, w := range want {
		c.reportDamage(key, "S2.3", "nothing", "%s: without it no zone would find what waits", w)
	}
	return err
}

// checkSerials checks that what a name remembers is not ahead of a zone that stands there (S6.5).
func (c *check) checkSerials() error {
	room := c.layout.Room("serials")
	remembered := map[string]law.LastSerial{}
	err := c.eachKey(room, func(key string, kv *mvccpb.KeyValue) error {
		c.report.Keys++
		var last law.LastSerial
		if c.parseValue(key, kv, &last) {
			remembered[key] = last
		}
		return nil
	})
	for p, z := range c.names {
		key := c.layout.Key(law.Key{Kind: law.KindLastSerial, View: p.view, Name: p.fqdn})
		if last, ok := remembered[key]; ok && last.Serial.Ahead(z.Serial) {
			c.reportDamage(key, "S6.5", fmt.Sprintf("serial %d", last.Serial), "none ahead of the zone's, %d", z.Serial)
		}
	}
	return err
}
