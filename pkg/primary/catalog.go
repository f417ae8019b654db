// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

const catalogInterval = 250 * time.Millisecond

// catalog is a class's catalog zone (RFC 9432), the list of zones for the class's secondaries. Every primary publishes
// the same list under the same serial, Membership.Serial. A primary merges the changes within catalogInterval, and so
// skips serials. A secondary that asks another primary for the changes since a skipped serial gets the whole catalog.
// The class's mutex guards all fields.
type catalog struct {
	class string
	fqdn  name.Name
	// group is the property of each member (RFC 9432 §4.3.2), "" for none. It never changes.
	group string
	// pending holds the changes to publish, and published the members in the current catalog, both by the owner name of
	// the member's PTR record. A zero listing in pending removes the member.
	pending   map[name.Rel]listing
	published map[name.Rel]listing
	// serial is current, and targetSerial the next to publish.
	serial, targetSerial serial.Serial
	publishedAt          time.Time
}

type listing struct {
	zone        name.Name
	unconfirmed bool
}

func (l listing) ttl() content.TTL {
	if l.unconfirmed {
		return content.ExplicitTTL(dns.UnconfirmedTTL)
	}
	return content.InheritTTL()
}

func newCatalog(class string, fqdn name.Name, group string) *catalog {
	return &catalog{class: class, fqdn: fqdn, group: group, pending: map[name.Rel]listing{}, published: map[name.Rel]listing{}}
}

const catalogUID = "catalog of class " // uids contain no blanks

func (c *catalog) uid() string { return catalogUID + c.class }

func isCatalog(s *zoneview.Snapshot) bool { return strings.HasPrefix(s.Zone().UID, catalogUID) }

var memberID = base32.HexEncoding.WithPadding(base32.NoPadding)

// memberRow depends on UID and zone name, so that consumers reset a member's state when either changes (RFC 9432 §5.3,
// §5.4).
func memberRow(uid string, zone name.Name) name.Rel {
	sum := sha256.Sum256([]byte(uid + "\n" + zone.String()))
	return name.MustRel(strings.ToLower(memberID.EncodeToString(sum[:20])) + ".zones")
}

func (c *catalog) isNamed(fqdn name.Name) bool { return c != nil && c.fqdn == fqdn }

func (c *catalog) addMember(uid string, listed listing) {
	if c != nil {
		c.pending[memberRow(uid, listed.zone)] = listed
	}
}

func (c *catalog) removeMember(uid string, zone name.Name) {
	if c != nil {
		c.pending[memberRow(uid, zone)] = listing{}
	}
}

// makeHeader returns the SOA and NS recommended by RFC 9432 §4.1.
func (c *catalog) makeHeader() content.Header {
	return content.Header{
		FQDN: c.fqdn, Refresh: 3600, Retry: 600, Expire: 3600000,
		PrimaryNameServer: "invalid.", Contact: "invalid.", NameServers: []content.NameServer{{Name: "invalid."}},
	}
}

// memberRows returns the records of a member by owner and type: its PTR and its group, if there is one.
func (c *catalog) memberRows(row name.Rel, zone name.Name) []content.Row {
	rows := []content.Row{memberPointer(row, zone)}
	if c.group != "" {
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(c.group) + `"`
		rows = append(rows, content.Row{Owner: name.MustRel("group." + row.String()), Type: rdata.TXT, Data: quoted})
	}
	return rows
}

func memberPointer(row name.Rel, zone name.Name) content.Row {
	return content.Row{Owner: row, Type: rdata.PTR, Data: zone.String()}
}

// makeSnapshot builds the whole catalog from the members at a serial, and records them as published. The caller holds
// the class's mutex.
func (c *catalog) makeSnapshot(members map[string]name.Name, unconfirmed map[string]bool, at serial.Serial) *zoneview.Snapshot {
	// Without version "2" a consumer ignores the catalog (RFC 9432).
	sets := []content.RRset{{Owner: name.MustRel("version"), Type: rdata.TXT, TTL: content.InheritTTL(), Data: []string{`"2"`}}}

	for uid, zone := range members {
		row, listed := memberRow(uid, zone), listing{zone, unconfirmed[uid]}
		c.published[row] = listed
		for _, one := range c.memberRows(row, zone) {
			sets = append(sets, content.RRset{Owner: one.Owner, Type: one.Type, TTL: listed.ttl(), Data: []string{one.Data}})
		}
	}

	slices.SortFunc(sets, content.RRset.Compare)
	state := content.Step{}.State
	for _, set := range sets {
		state, _ = state.Update(nil, set.Elements(nil))
	}

	c.serial, c.targetSerial = at, at
	return zoneview.NewSnapshot(zoneview.Zone{UID: c.uid(), Name: c.class}, c.makeHeader(), c.serial, 1, state, slices.Values(sets))
}

// timeToPublish returns the time until the pending changes may be published, 0 for now. ok is false without changes or
// without a catalog. The caller holds the class's mutex.
func (c *catalog) timeToPublish(now time.Time) (time.Duration, bool) {
	if c == nil || len(c.pending) == 0 {
		return 0, false
	}
	return max(0, c.publishedAt.Add(catalogInterval).Sub(now)), true
}

// makeStep turns the pending changes into a step of the catalog, and clears them. changed is false if the changes
// cancel out. After an error, published may differ from the snapshot, and the caller rebuilds the catalog. The caller
// holds the class's mutex.
func (c *catalog) makeStep(from *zoneview.Snapshot) (content.Step, bool, error) {
	step := content.Step{N: from.N() + 1, From: from.Serial()}
	for row, after := range c.pending {
		before, listed := c.published[row]
		// A zone was removed and added again within the interval, or only repeated.
		if before == after {
			continue
		}

		var change content.TTLChange
		if listed {
			ttl := before.ttl()
			change.Before = &ttl
			delete(c.published, row)
		}

		if !after.zone.IsZero() {
			ttl := after.ttl()
			change.After = &ttl
			c.published[row] = after
		}

		// The row depends on the zone's name, so before and after have the same zone.
		rows := c.memberRows(row, cmp.Or(after.zone, before.zone))
		for _, one := range rows {
			change.Owner, change.Type = one.Owner, one.Type
			step.TTLs = append(step.TTLs, change)
		}
		switch {
		case change.Before == nil:
			step.Added = append(step.Added, rows...)
		case change.After == nil:
			step.Removed = append(step.Removed, rows...)
		}
	}

	clear(c.pending)
	if len(step.TTLs) == 0 {
		return step, false, nil
	}

	slices.SortFunc(step.Removed, content.Row.Compare)
	slices.SortFunc(step.Added, content.Row.Compare)
	slices.SortFunc(step.TTLs, func(a, b content.TTLChange) int {
		return cmp.Or(a.Owner.Compare(b.Owner), cmp.Compare(a.Type, b.Type))
	})

	// With an old serial, secondaries would never transfer the change.
	if !c.targetSerial.Ahead(c.serial) {
		return step, true, fmt.Errorf("serial %d is not ahead of %d", c.targetSerial, c.serial)
	}
	c.serial = c.targetSerial
	step.Serial = c.serial

	removed, added := step.Elements()
	state, err := from.State().Update(removed, added)
	step.State = state
	return step, true, err
}
