// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/apis/precedence"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// ClassConfig configures a Class. The peers in Config form another class, without a name and a catalog.
type ClassConfig struct {
	Name string
	// Tenant is the namespace that owns the class and can read its keys; "" means the platform. Update ignores it.
	Tenant string
	// Catalog is the name of the catalog zone (RFC 9432). The zero name means none.
	Catalog name.Name
	// CatalogGroup is the property group of the catalog's members (RFC 9432 §4.3.2), printable ASCII; "" means none. It
	// changes with Catalog alone.
	CatalogGroup string
	// Keys with the same name must be equal in all classes, because a request identifies its key only by name.
	Keys   []tsig.Key
	Allow  []Rule
	Notify []Target
	// TLS, if not nil, admits only peers over TLS with a certificate that it accepts. A Rule may then have neither
	// prefixes nor a key.
	TLS *ClassTLS
}

type Member struct {
	UID  string
	Zone name.Name
}

// Membership is the list of zones of a class. The maps are keyed by UID.
type Membership struct {
	// Members are in order of precedence. If several have the same name, only the first is served. A member with the
	// catalog's name is not served.
	Members []Member
	// Serial is the version of Members, equal in all primaries. With a catalog, Serial is also the catalog's, and must
	// not be 0.
	Serial serial.Serial
	// Paused members are in the catalog but are not transferred, so that secondaries keep their data.
	Paused map[string]bool
	// Unconfirmed members have the TTL dns.UnconfirmedTTL in the catalog.
	Unconfirmed map[string]bool
	// Signed members are served only to peers that sign zones, because others would answer without signatures.
	Signed map[string]bool
	// Signing members are also announced to peers that sign, so that they begin to sign.
	Signing map[string]bool
}

// Class is a group of secondaries that transfer the same zones, the members.
type Class struct {
	parent *classes
	name   string
	tenant string    // "" means the platform
	peers  peerIndex // guarded by classes.registryMu
	// views is set in the class of Config.Allow and in the classes of update keys, which serve all zones of these
	// views.
	views []string

	mu         sync.RWMutex
	access     rules                // sources that may transfer
	tls        *ClassTLS            // nil: they transfer in clear
	notify     []Target             // servers that get NOTIFYs
	members    map[string]name.Name // zone names by UID
	byName     map[name.Name]string // UIDs by zone name
	membership Membership
	catalog    *catalog // may be nil
}

// nameMembers returns the served members, zone names by UID and UIDs by name. Of members with the same name the first
// is served, and none with the name of the catalog.
func nameMembers(members []Member, catalog name.Name) (map[string]name.Name, map[name.Name]string) {
	has, _ := precedence.Decide(members, func(m Member) map[name.Name]string { return map[name.Name]string{m.Zone: m.UID} }, nil)
	delete(has, catalog)
	named, byName := map[string]name.Name{}, map[name.Name]string{}
	for zone, m := range has {
		named[m.UID], byName[zone] = zone, m.UID
	}
	return named, byName
}

// Update replaces peers, keys and catalog, but not members. After an error the class is unchanged.
func (c *Class) Update(config ClassConfig) error {
	config.Name = c.name
	return c.configureClass(config, false)
}

// configureClass checks a configuration and puts the class into the registry. After an error nothing has changed. The
// registry is replaced as a whole, so that messages in progress see the old or the new one.
func (c *Class) configureClass(config ClassConfig, isNew bool) error {
	s := c.parent
	s.registryMu.Lock()
	defer s.registryMu.Unlock()
	fail := func(err error) error { return fmt.Errorf("primary: class %q: %w", c.name, err) }

	// 1. Find the class, which another goroutine may have closed.
	before := s.registry.Load()
	at, found := slices.BinarySearchFunc(before.classes, c, compareNames)
	switch {
	case isNew && found:
		return fail(errors.New("there is one of this name"))
	case !isNew && (!found || before.classes[at] != c):
		return fail(errors.New("it is closed"))
	}

	// 2. Check keys, rules and targets.
	keys, err := tsig.NewKeyring(config.Keys)
	if err != nil {
		return fail(err)
	}
	rules, errAccess := newAccess(config.Allow, keys, config.TLS != nil)
	targets, errNotify := newTargets(config.Notify, keys)
	if err := errors.Join(errAccess, errNotify); err != nil {
		return fail(err)
	}
	if config.TLS != nil && !s.hasTLS {
		return fail(errors.New("it has TLS, and this primary has no port for TLS: set --dns-tls-listen"))
	}

	// 3. Check the catalog against the members.
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.byName[config.Catalog]; taken {
		return fail(fmt.Errorf("membership: Catalog: a zone of the class is named %s; give the catalog another name", config.Catalog))
	}
	if c.membership.Serial == 0 && !config.Catalog.IsZero() {
		return fail(errors.New("membership: Serial: 0 is the serial of no zone"))
	}

	// 4. Build the next registry. A different key of the same name in another class ends the attempt here.
	classes := before.classes
	if isNew {
		classes = slices.Insert(slices.Clone(classes), at, c)
	}

	had := c.peers
	c.peers = newPeerIndex(keys, rules)
	after, err := newRegistry(classes, before.updaters)
	if err != nil {
		// Only holders of registryMu read the index, so no message has met the new keys.
		c.peers = had
		return fail(err)
	}

	c.access, c.notify, c.tls = rules, targets, config.TLS
	c.replaceCatalog(config.Catalog, config.CatalogGroup)
	s.registry.Store(after)
	// The targets may have changed, so every zone of the class is looked at again.
	s.changes.add(classUID{class: c}, false)
	return nil
}

// replaceCatalog removes the catalog if fqdn is zero. The caller must hold c.mu.
func (c *Class) replaceCatalog(fqdn name.Name, group string) {
	if c.catalog != nil && c.catalog.fqdn != fqdn {
		c.parent.catalogs.Remove(c.catalog.uid())
		c.catalog = nil
	}
	if c.catalog == nil && !fqdn.IsZero() {
		c.catalog = newCatalog(c.name, fqdn, group)
		c.parent.catalogs.Put(c.catalog.makeSnapshot(c.members, c.membership.Unconfirmed, c.membership.Serial), true)
	}
}

// Close removes the class: its peers are refused from the next message on, and its targets get no more NOTIFYs.
// Transfers in progress continue. A second call does nothing.
func (c *Class) Close() {
	s := c.parent
	s.registryMu.Lock()
	defer s.registryMu.Unlock()
	before := s.registry.Load()
	at := slices.Index(before.classes, c)
	if at < 0 {
		return
	}
	// Removing keys causes no conflict.
	after, _ := newRegistry(slices.Delete(slices.Clone(before.classes), at, at+1), before.updaters)
	s.registry.Store(after)

	// Messages that loaded the former registry may still reach the class, so leave nothing to serve.
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replaceCatalog(name.Name{}, "")
	c.access, c.notify, c.tls = nil, nil, nil
	s.faults.forgetClass(c)
	clear(c.members)
	clear(c.byName)
	s.changes.add(classUID{class: c}, false)
}

// SetMembers replaces the members, and queues NOTIFYs for zones that are new, renamed or no longer paused, or have
// other targets. The catalog is updated within catalogInterval.
func (c *Class) SetMembers(to Membership) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var catalog name.Name
	if c.catalog != nil {
		catalog = c.catalog.fqdn
	}

	// Removed or renamed members.
	members, byName := nameMembers(to.Members, catalog)
	for uid, zone := range c.members {
		if members[uid] != zone {
			c.catalog.removeMember(uid, zone)
			c.parent.changes.add(classUID{uid: uid}, false)
		}
	}

	// New, renamed, or with a new TTL in the catalog.
	for uid, zone := range members {
		if c.members[uid] != zone || c.membership.Unconfirmed[uid] != to.Unconfirmed[uid] {
			c.catalog.addMember(uid, listing{zone, to.Unconfirmed[uid]})
		}
		if c.members[uid] != zone {
			c.parent.changes.add(classUID{uid: uid}, false)
		}
	}

	for uid := range c.membership.Paused {
		if !to.Paused[uid] {
			c.parent.changes.add(classUID{uid: uid}, false) // secondaries have missed changes
		}
	}

	for uid := range members {
		if c.membership.Signed[uid] != to.Signed[uid] || c.membership.Signing[uid] != to.Signing[uid] {
			c.parent.changes.add(classUID{uid: uid}, false) // the targets change
		}
	}

	c.members, c.byName, c.membership = members, byName, to
	// The catalog is published later, under the serial of the last list.
	if c.catalog != nil {
		c.catalog.targetSerial = to.Serial
	}
	wake(c.parent.changes.wakeCatalogs)
}

// Announce repeats the NOTIFYs for a zone and the catalog, because a target without the zone may have missed the
// catalog's NOTIFY.
func (c *Class) Announce(uid string) {
	c.parent.changes.add(classUID{c, uid}, true)
	c.AnnounceCatalog()
}

func (c *Class) AnnounceCatalog() {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.catalog != nil {
		c.parent.changes.add(classUID{c, c.catalog.uid()}, true)
	}
}

// allows reports whether the rules admit a source with a key, whether that source signs zones, and whether it has the
// TLS that the class needs, according to isProven.
func (c *Class) allows(from netip.Addr, key *tsig.SigningKey, isProven func(*ClassTLS) bool) (allowed, signs, hasTLS bool) {
	c.mu.RLock()
	of := c.tls
	allowed, signs = c.access.allow(from, key)
	c.mu.RUnlock()
	return allowed, signs, allowed && (of == nil || isProven(of))
}

// trustOf returns the trust in a source. An address alone proves nothing to a class with TLS.
func (c *Class) trustOf(from netip.Addr) trust {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.tls != nil {
		return min(c.access.trustOf(from), unproven)
	}
	return c.access.trustOf(from)
}

func (c *Class) tlsOf() *ClassTLS {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.tls
}

// lists reports whether the class names a server at an address.
func (c *Class) lists(from netip.Addr) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.ContainsFunc(c.notify, func(target Target) bool { return target.Addr.Addr() == from })
}

// findZone returns the snapshot served under a name, or false. signs is true for a signing peer, which also gets the
// zones in Membership.Signed.
func (c *Class) findZone(fqdn name.Name, signs bool) (*zoneview.Snapshot, bool) {
	for _, view := range c.views {
		if s, ok := c.parent.zones.Find(view, fqdn); ok {
			return s, true
		}
	}

	c.mu.RLock()
	uid, catalog := c.byName[fqdn], c.catalog
	isHidden := c.membership.Paused[uid] || c.membership.Signed[uid] && !signs
	c.mu.RUnlock()
	if catalog.isNamed(fqdn) {
		return c.parent.catalogs.Settled(catalog.uid())
	}
	if isHidden {
		return nil, false
	}

	s, ok := c.parent.zones.Settled(uid)
	// The zone was renamed, and the new list of members is not here yet.
	if !ok || s.FQDN() != fqdn {
		return nil, false
	}
	return s, true
}

// nameOf returns the name under which the class serves a zone or its catalog; zero if the class does not.
func (c *Class) nameOf(uid string) name.Name {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.catalog != nil && c.catalog.uid() == uid {
		return c.catalog.fqdn
	}
	if zone, ok := c.members[uid]; ok {
		return zone
	}
	if len(c.views) == 0 {
		return name.Name{}
	}
	if s, ok := c.parent.zones.Settled(uid); ok {
		return s.FQDN()
	}
	return name.Name{}
}

func (c *Class) isCatalog(fqdn name.Name) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.catalog.isNamed(fqdn)
}

// catalogName returns the zero name without a catalog.
func (c *Class) catalogName() name.Name {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.catalog == nil {
		return name.Name{}
	}
	return c.catalog.fqdn
}

func (c *Class) uids() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	uids := slices.Collect(maps.Keys(c.members))
	if c.catalog != nil {
		uids = append(uids, c.catalog.uid())
	}
	return uids
}

func (c *Class) targets() []Target {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.notify
}

// targetsOf returns the servers that get NOTIFYs for a zone of the class, or for its catalog.
func (c *Class) targetsOf(fqdn name.Name) []Target {
	c.mu.RLock()
	defer c.mu.RUnlock()

	uid := c.byName[fqdn]
	signed, signing := c.membership.Signed[uid], c.membership.Signing[uid]
	catalog := c.catalog.isNamed(fqdn)
	return slices.DeleteFunc(slices.Clone(c.notify), func(target Target) bool {
		if catalog {
			return target.NoCatalog
		}
		// A signed zone goes to the signer alone, since the other servers transfer from the signer. While signing
		// begins, both kinds of servers need the zone.
		return target.NoZones || target.Signs != signed && !(target.Signs && signing)
	})
}

// publishCatalog publishes the pending changes of the catalog if their time has come, and otherwise returns the time
// until then. 0 means no timer.
func (c *Class) publishCatalog(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait, due := c.catalog.timeToPublish(now)
	if !due || wait > 0 {
		return wait
	}

	set := c.parent.catalogs
	from, ok := set.Settled(c.catalog.uid())
	if !ok {
		return 0
	}

	step, changed, err := c.catalog.makeStep(from)
	if changed {
		c.catalog.publishedAt = now
	}
	if err == nil && changed {
		err = set.Apply(c.catalog.uid(), content.Transaction{Steps: []content.Step{step}, Settled: true}, zoneview.Zone{})
	}

	if err != nil {
		// Secondaries delete zones that are missing in the catalog, so rebuild it from the current members.
		c.parent.log.Error(err, "Catalog zone is rebuilt, since its journal did not fit. Secondaries transfer it when its serial is ahead "+
			"of theirs", "class", c.name, "zone", c.catalog.fqdn.String())
		c.catalog = newCatalog(c.name, c.catalog.fqdn, c.catalog.group)
		c.catalog.publishedAt = now
		set.Put(c.catalog.makeSnapshot(c.members, c.membership.Unconfirmed, c.membership.Serial), true)
	}
	return 0
}
