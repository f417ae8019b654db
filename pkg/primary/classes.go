// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zoneview"
)

// classes are the classes of a primary, with what they share.
type classes struct {
	zones    Zones
	catalogs *zoneview.Set // a zone of each class that has a catalog
	changes  *changes
	log      klog.Logger

	roster   atomic.Pointer[roster]
	changing sync.Mutex         // held while the roster is replaced
	keys     map[string]keyring // by class
}

// roster is all classes and keys at one moment. It is replaced, never changed.
type roster struct {
	keys    keyring
	classes []*Class
}

// newClasses begins with the nameless class, which has the zones of views.
func newClasses(config *Config, keys keyring, log klog.Logger) *classes {
	s := &classes{zones: config.Zones, catalogs: zoneview.NewSet(zoneview.Config{}), changes: newChanges(), log: log, keys: map[string]keyring{"": keys}}
	s.roster.Store(&roster{keys: keys, classes: []*Class{{all: s, views: config.Views, access: config.Allow, notify: config.Notify}}})
	return s
}

// addClass makes a class with its members.
func (s *classes) addClass(c ClassConfig, of Membership) (*Class, error) {
	if c.Name == "" {
		return nil, errors.New("primary: class: Name: required")
	}
	if of.Serial == 0 && !c.Catalog.IsZero() {
		return nil, fmt.Errorf("primary: class %q: Serial: 0 is the serial of no zone", c.Name)
	}
	class := &Class{all: s, name: c.Name, tenant: c.Tenant, serial: of.Serial, paused: maps.Clone(of.Paused), unconfirmed: maps.Clone(of.Unconfirmed)}
	class.members, class.byName = nameMembers(of.Members, c.Catalog)
	return class, class.configureClass(c, true)
}

// newRoster is before with class in it, where it is not yet, and the keys of all. The nameless class stays first.
func (s *classes) newRoster(before *roster, class *Class) (*roster, error) {
	after := &roster{keys: keyring{}, classes: slices.Clone(before.classes)}
	if class != nil && !slices.Contains(after.classes, class) {
		after.classes = append(after.classes, class)
	}
	slices.SortFunc(after.classes, func(a, b *Class) int { return cmp.Compare(a.name, b.name) })
	for _, c := range after.classes {
		for keyName, k := range s.keys[c.name] {
			if known, ok := after.keys[keyName]; ok && !known.sameAs(k) {
				return nil, fmt.Errorf("class: Keys: %q is another key in another class; a peer says which it means by the name alone, so name one of them otherwise", k)
			}
			after.keys[keyName] = k
		}
	}
	return after, nil
}

// opening is a class that lets a request in.
type opening struct {
	*Class
	signs bool // the peer signs the zones that it transfers
}

// classesFor are the classes that let this request in.
func (r *roster) classesFor(from netip.Addr, key *signingKey) []opening {
	var open []opening
	for _, c := range r.classes {
		if allowed, signs := c.allows(from, key); allowed {
			open = append(open, opening{c, signs})
		}
	}
	return open
}

// tenantOf is the tenant of the first of the classes that let a request in, "" where one of them has none.
func tenantOf(open []opening) string {
	if slices.ContainsFunc(open, func(class opening) bool { return class.tenant == "" }) {
		return ""
	}
	return open[0].tenant
}

// standingOf of a source is the best that it has in any class. A peer that only classes of tenants allow, and by its
// address, is unproven until its first message: a connection has a place of the tenants from then on.
func (r *roster) standingOf(from netip.Addr) standing {
	is := outsider
	for _, c := range r.classes {
		has := c.standingOf(from)
		if c.tenant != "" {
			has = min(has, unproven)
		}
		is = max(is, has)
	}
	return is
}

// findDifference is what lies between a serial of a zone, or of a catalog, and a snapshot of it.
func (s *classes) findDifference(zone *zoneview.Snapshot, since serial.Serial) (zoneview.Difference, error) {
	if isCatalog(zone) {
		return s.catalogs.Difference(zone, since)
	}
	return s.zones.Difference(zone, since)
}

// countServed counts the zones that some peer may know of, without the catalogs.
func (s *classes) countServed() (n int) {
	classes := s.roster.Load().classes
	for zone := range s.zones.All() {
		if slices.ContainsFunc(classes, func(class *Class) bool {
			one, ok := class.findZone(class.nameOf(zone.Zone().UID), true)
			return ok && one == zone
		}) {
			n++
		}
	}
	return n
}

// publishCatalogs publishes catalogs as their classes change, until ctx ends.
func (s *classes) publishCatalogs(ctx context.Context, clock func() time.Time) {
	for {
		var wait time.Duration
		for _, class := range s.roster.Load().classes {
			if w := class.publishCatalog(clock()); w > 0 && (wait == 0 || w < wait) {
				wait = w
			}
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-s.changes.catalogs:
		case <-timer:
		case <-ctx.Done():
			return
		}
	}
}

// changes are those of classes and not of zones, of which the loops have not taken notice.
type changes struct {
	mu sync.Mutex
	// noted are the zones to announce; true: also what was announced already. Without a class it is in every one,
	// without a uid every zone of the class.
	noted    map[classUID]bool
	wake     chan struct{}
	catalogs chan struct{} // a catalog has something to publish
}

// classUID is a zone in a class.
type classUID struct {
	class *Class
	uid   string
}

func newChanges() *changes {
	return &changes{noted: map[classUID]bool{}, wake: make(chan struct{}, 1), catalogs: make(chan struct{}, 1)}
}

func (s *changes) note(at classUID, again bool) {
	s.mu.Lock()
	s.noted[at] = s.noted[at] || again
	s.mu.Unlock()
	wake(s.wake)
}

// takeNoted returns what was noted and forgets it.
func (s *changes) takeNoted() map[classUID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	noted := s.noted
	s.noted = map[classUID]bool{}
	return noted
}

// wake wakes the loop that waits for the channel, now or when it comes to that.
func wake(loop chan<- struct{}) {
	select {
	case loop <- struct{}{}:
	default:
	}
}
