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

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/precedence"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/zoneview"
)

// ClassConfig says which peers a group of zones has. The zones of Config.Views with Config.Keys, Allow and Notify
// are a class too, one without a name, a catalog or members: all zones of the views are in it.
type ClassConfig struct {
	// Name tells classes apart.
	Name string
	// Tenant is the namespace that has the class and can read the keys of its peers. They have places for connections
	// and transfers apart from other peers (Config.MaxConns, MaxTransfers). Empty: the peers are the platform's. Update
	// does not change it.
	Tenant string
	// Catalog is the name of the catalog zone (RFC 9432) that lists the zones. Zero: none is served.
	Catalog name.Name
	// Keys are the TSIG keys of its peers. Allow and Notify name them. A key of the same name in another class is the
	// same key.
	Keys []tsig.Key
	// Allow says which peers may ask for the zones and the catalog. Without a rule none may.
	Allow []Rule
	// Notify are the secondaries told of new serials, and of a new catalog.
	Notify []Target
}

// Member is a zone in a class: an object and the name under which its class has it, so that a zone with another name
// since is still listed as it is served.
type Member struct {
	UID  string
	Zone name.Name
}

// Membership is all zones of a class at one moment. What it has is not changed any more.
type Membership struct {
	// Members, in the order in which they have a right to their names: of two of one name the later is not in the
	// class, nor is one that is named as the catalog.
	Members []Member
	// Serial stands for Members: each primary of the class has the same ones under the same serial, so that a
	// secondary may ask any primary. It is the catalog's, and not 0 where there is one.
	Serial serial.Serial
	// Paused are members, by UID, that are listed and not handed out: what secondaries have of them stays.
	Paused map[string]bool
	// Unconfirmed are members, by UID, that the catalog lists as dns.UnconfirmedTTL says.
	Unconfirmed map[string]bool
	// Signed are members, by UID, that are handed out to peers that sign, and to no other: a secondary that had the
	// zone from two servers, signed and unsigned, would answer without signatures.
	Signed map[string]bool
	// Signing are members, by UID, that peers that sign are told of beside the others: they begin to sign them.
	Signing map[string]bool
}

// Class is a group of zones and its peers. Peers see no zone of other classes: what they ask of one is answered as if
// there were none.
type Class struct {
	all    *classes
	name   string
	tenant string
	by     openingBy // while classes.changing is held
	// views are those of the nameless class, whose zones are not listed.
	views []string

	mu      sync.RWMutex
	access  rules
	notify  []Target
	members map[string]name.Name // by UID
	byName  map[name.Name]string
	now     Membership
	catalog *catalog // nil: none
}

// nameMembers are the members that have a name, and the names with the member that has each.
func nameMembers(members []Member, catalog name.Name) (map[string]name.Name, map[name.Name]string) {
	has, _ := precedence.Decide(members, func(m Member) map[name.Name]string { return map[name.Name]string{m.Zone: m.UID} }, nil)
	delete(has, catalog)
	named, byName := map[string]name.Name{}, map[name.Name]string{}
	for zone, m := range has {
		named[m.UID], byName[zone] = zone, m.UID
	}
	return named, byName
}

// Update gives the class other peers, keys or another catalog. Its members stay.
func (c *Class) Update(config ClassConfig) error {
	config.Name = c.name
	return c.configureClass(config, false)
}

func (c *Class) configureClass(config ClassConfig, isNew bool) error {
	s := c.all
	s.changing.Lock()
	defer s.changing.Unlock()
	fail := func(err error) error { return fmt.Errorf("primary: class %q: %w", c.name, err) }
	before := s.roster.Load()
	at, found := slices.BinarySearchFunc(before.classes, c, compareNames)
	switch {
	case isNew && found:
		return fail(errors.New("there is one of this name"))
	case !isNew && (!found || before.classes[at] != c):
		return fail(errors.New("it is closed"))
	}
	keys, err := tsig.NewKeyring(config.Keys)
	if err != nil {
		return fail(err)
	}
	rules, errAccess := newAccess(config.Allow, keys)
	targets, errNotify := newTargets(config.Notify, keys)
	if err := errors.Join(errAccess, errNotify); err != nil {
		return fail(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.byName[config.Catalog]; taken {
		return fail(fmt.Errorf("membership: Catalog: a zone of the class is named %s; give the catalog another name", config.Catalog))
	}
	if c.now.Serial == 0 && !config.Catalog.IsZero() {
		return fail(errors.New("membership: Serial: 0 is the serial of no zone"))
	}
	classes := before.classes
	if isNew {
		classes = slices.Insert(slices.Clone(classes), at, c)
	}
	had := c.by
	c.by = newOpeningBy(keys, rules)
	after, err := newRoster(classes, before.updaters)
	if err != nil {
		c.by = had
		return fail(err)
	}
	c.access, c.notify = rules, targets
	c.replaceCatalog(config.Catalog)
	s.roster.Store(after)
	s.changes.note(classUID{class: c}, false)
	return nil
}

// replaceCatalog serves the class's catalog under a name, none for the zero Name. The mutex is held.
func (c *Class) replaceCatalog(fqdn name.Name) {
	if c.catalog != nil && c.catalog.fqdn != fqdn {
		c.all.catalogs.Remove(c.catalog.uid())
		c.catalog = nil
	}
	if c.catalog == nil && !fqdn.IsZero() {
		c.catalog = newCatalog(c.name, fqdn)
		c.all.catalogs.Put(c.catalog.makeSnapshot(c.members, c.now.Unconfirmed, c.now.Serial), true)
	}
}

// Close ends the class: its zones are no longer handed to its peers.
func (c *Class) Close() {
	s := c.all
	s.changing.Lock()
	defer s.changing.Unlock()
	before := s.roster.Load()
	at := slices.Index(before.classes, c)
	if at < 0 {
		return
	}
	// Fewer keys do not differ where more did not.
	after, _ := newRoster(slices.Delete(slices.Clone(before.classes), at, at+1), before.updaters)
	s.roster.Store(after)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replaceCatalog(name.Name{})
	c.access, c.notify = nil, nil
	clear(c.members)
	clear(c.byName)
	s.changes.note(classUID{class: c}, false)
}

// Set says which members the class has now. Peers see those that came and do not see those that went at once; the
// catalog follows within a moment.
func (c *Class) Set(to Membership) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var catalog name.Name
	if c.catalog != nil {
		catalog = c.catalog.fqdn
	}
	members, byName := nameMembers(to.Members, catalog)
	for uid, zone := range c.members {
		if members[uid] != zone {
			c.catalog.removeMember(uid, zone)
			c.all.changes.note(classUID{uid: uid}, false)
		}
	}
	for uid, zone := range members {
		if c.members[uid] != zone || c.now.Unconfirmed[uid] != to.Unconfirmed[uid] {
			c.catalog.addMember(uid, listing{zone, to.Unconfirmed[uid]})
		}
		if c.members[uid] != zone {
			c.all.changes.note(classUID{uid: uid}, false)
		}
	}
	for uid := range c.now.Paused {
		if !to.Paused[uid] {
			c.all.changes.note(classUID{uid: uid}, false) // its secondaries have missed what came meanwhile
		}
	}
	for uid := range members {
		if c.now.Signed[uid] != to.Signed[uid] || c.now.Signing[uid] != to.Signing[uid] {
			c.all.changes.note(classUID{uid: uid}, false) // other targets are to be told
		}
	}
	c.members, c.byName, c.now = members, byName, to
	if c.catalog != nil {
		c.catalog.wanted = to.Serial
	}
	wake(c.all.changes.catalogs)
}

// Announce tells the class's targets of a zone's serial again, and of the catalog: a target that lacks the zone may
// have missed the serial of the catalog that lists it.
func (c *Class) Announce(uid string) {
	c.all.changes.note(classUID{c, uid}, true)
	c.AnnounceCatalog()
}

// AnnounceCatalog tells the class's targets of the serial of the catalog again.
func (c *Class) AnnounceCatalog() {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.catalog != nil {
		c.all.changes.note(classUID{c, c.catalog.uid()}, true)
	}
}

func (c *Class) allows(from netip.Addr, key *tsig.SigningKey) (allowed, signs bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.access.allow(from, key)
}

func (c *Class) standingOf(from netip.Addr) standing {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.access.standingOf(from)
}

// findZone is the zone of that name that the class's peers may know of; signs says that the peer signs.
func (c *Class) findZone(fqdn name.Name, signs bool) (*zoneview.Snapshot, bool) {
	if fqdn.IsZero() {
		return nil, false
	}
	for _, view := range c.views {
		if s, ok := c.all.zones.Find(view, fqdn); ok {
			return s, true
		}
	}
	c.mu.RLock()
	uid, ok := c.byName[fqdn]
	if c.catalog != nil && c.catalog.fqdn == fqdn {
		uid = c.catalog.uid()
		c.mu.RUnlock()
		return c.all.catalogs.Settled(uid)
	}
	hidden := c.now.Paused[uid] || c.now.Signed[uid] && !signs
	c.mu.RUnlock()
	if !ok || hidden {
		return nil, false
	}
	s, ok := c.all.zones.Settled(uid)
	if !ok || s.FQDN() != fqdn {
		return nil, false
	}
	return s, true
}

// nameOf is that under which the class may have something to say about a zone now; zero: it has not.
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
	if s, ok := c.all.zones.Settled(uid); ok {
		return s.FQDN()
	}
	return name.Name{}
}

// isCatalog reports whether the class has its catalog under this name.
func (c *Class) isCatalog(fqdn name.Name) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.catalog != nil && c.catalog.fqdn == fqdn
}

// uids are all zones that the class lists, and its catalog.
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

// targetsOf are the targets that are told of a zone, or of the catalog.
func (c *Class) targetsOf(fqdn name.Name) []Target {
	c.mu.RLock()
	defer c.mu.RUnlock()
	uid := c.byName[fqdn]
	signed, signing := c.now.Signed[uid], c.now.Signing[uid]
	catalog := c.catalog != nil && c.catalog.fqdn == fqdn
	return slices.DeleteFunc(slices.Clone(c.notify), func(target Target) bool {
		if catalog {
			return target.NoCatalog
		}
		return target.NoZones || target.Signs != signed && !(target.Signs && signing)
	})
}

// publishCatalog brings the catalog up to date where its time has come. It returns how long it has to wait else, 0
// for not.
func (c *Class) publishCatalog(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait, due := c.catalog.timeToPublish(now)
	if !due || wait > 0 {
		return wait
	}
	set := c.all.catalogs
	from, ok := set.Settled(c.catalog.uid())
	if !ok {
		return 0
	}
	step, changed, err := c.catalog.makeStep(from)
	if changed {
		c.catalog.last = now
	}
	if err == nil && changed {
		err = set.Apply(c.catalog.uid(), content.Transaction{Steps: []content.Step{step}, Settled: true}, zoneview.Zone{})
	}
	if err != nil {
		// Secondaries that follow the catalog delete what is missing in it, so it begins again from what is known.
		// Where the store was set back, they take it when its revisions have passed what they have.
		c.all.log.Error(err, "Catalog zone is made anew; its journal did not fit. Secondaries do not take it before its serial is ahead "+
			"of theirs", "class", c.name, "zone", c.catalog.fqdn.String())
		c.catalog = newCatalog(c.name, c.catalog.fqdn)
		c.catalog.last = now
		set.Put(c.catalog.makeSnapshot(c.members, c.now.Unconfirmed, c.now.Serial), true)
	}
	return 0
}
