// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zoneview"
)

// classes are the classes of a primary, with what they share.
type classes struct {
	zones    Zones
	catalogs *zoneview.Set // a zone of each class that has a catalog
	changes  *changes
	log      klog.Logger

	roster   atomic.Pointer[roster]
	changing sync.Mutex // held while the roster is replaced
}

// openingBy is what lets requests in to a class.
type openingBy struct {
	keys tsig.Keyring
	// address says that some rule depends on the source, anyAddress that some key is taken from every source.
	address, anyAddress bool
}

func newOpeningBy(keys tsig.Keyring, rules []Rule) openingBy {
	by := openingBy{keys: keys}
	for _, rule := range rules {
		by.address = by.address || len(rule.Prefixes) > 0
		by.anyAddress = by.anyAddress || len(rule.Prefixes) == 0
	}
	return by
}

// roster is all classes and keys at one moment. It is replaced, never changed.
type roster struct {
	keys    tsig.Keyring
	classes []*Class
	// byKey are the classes that have a key, and byAddress those of which some rule depends on the source, in the order
	// of classes: a question is for few of many classes, and its cost does not grow with their number.
	byKey     map[string][]*Class
	byAddress []*Class
	// updaters are the keys with which updates are sent, by name. None has the name of a key of a class.
	updaters map[string]*updater
	// anyAddress says that some class takes a key from every source, or there are updaters.
	anyAddress bool
}

// newClasses begins with the nameless class, which has the zones of views.
func newClasses(config *Config, keys tsig.Keyring, log klog.Logger) *classes {
	s := &classes{zones: config.Zones, catalogs: zoneview.NewSet(zoneview.Config{}), changes: newChanges(), log: log}
	nameless := &Class{all: s, views: config.Views, access: config.Allow, notify: config.Notify, by: newOpeningBy(keys, config.Allow)}
	first, _ := newRoster([]*Class{nameless}, nil) // keys of one class do not differ
	s.roster.Store(first)
	return s
}

// addClass makes a class with its members.
func (s *classes) addClass(c ClassConfig, of Membership) (*Class, error) {
	if c.Name == "" {
		return nil, errors.New("primary: class: Name: required")
	}
	class := &Class{all: s, name: c.Name, tenant: c.Tenant, now: of}
	class.members, class.byName = nameMembers(of.Members, c.Catalog)
	return class, class.configureClass(c, true)
}

// newRoster is of classes in the order of their names, the nameless class first, and has the keys of all. Those of
// classes have a name before updaters.
func newRoster(classes []*Class, updaters map[string]*updater) (*roster, error) {
	after := &roster{keys: tsig.Keyring{}, classes: classes, byKey: map[string][]*Class{}, updaters: map[string]*updater{}}
	for _, c := range after.classes {
		by := &c.by
		after.anyAddress = after.anyAddress || by.anyAddress
		if by.address {
			after.byAddress = append(after.byAddress, c)
		}
		for keyName, k := range by.keys {
			if known, ok := after.keys[keyName]; ok && !known.SameAs(k) {
				return nil, fmt.Errorf("class: Keys: %q is another key in another class; a peer says which it means by the name alone, "+
					"so name one of them otherwise", k)
			}
			after.keys[keyName] = k
			after.byKey[keyName] = append(after.byKey[keyName], c)
		}
	}
	for keyName, u := range updaters {
		if after.keys[keyName] == nil {
			after.keys[keyName], after.updaters[keyName], after.anyAddress = u.signing, u, true
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
func (r *roster) classesFor(from netip.Addr, key *tsig.SigningKey) []opening {
	var open []opening
	for _, c := range r.candidatesFor(key) {
		if allowed, signs := c.allows(from, key); allowed {
			open = append(open, opening{c, signs})
		}
	}
	return open
}

// candidatesFor are the classes that may let in a request with this key, nil for none, in the order of classes.
func (r *roster) candidatesFor(key *tsig.SigningKey) []*Class {
	if key == nil {
		return r.byAddress
	}
	may := slices.Concat(r.byAddress, r.byKey[key.Name])
	slices.SortFunc(may, compareNames)
	return slices.Compact(may)
}

func compareNames(a, b *Class) int { return cmp.Compare(a.name, b.name) }

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
	if r.anyAddress {
		is = unproven
	}
	for _, c := range r.byAddress {
		has := c.standingOf(from)
		if c.tenant != "" {
			has = min(has, unproven)
		}
		is = max(is, has)
	}
	return is
}

// zonesOf returns the journal of the zone, or of the catalog, of a snapshot.
func (s *classes) zonesOf(zone *zoneview.Snapshot) interface {
	Difference(*zoneview.Snapshot, serial.Serial) (zoneview.Difference, error)
	Changes(string, serial.Serial, serial.Serial) ([]content.Step, error)
} {
	if isCatalog(zone) {
		return s.catalogs
	}
	return s.zones
}

// countServed counts the zones that some peer may know of, without the catalogs.
func (s *classes) countServed() int {
	served := map[string]bool{}
	count := func(class *Class, uid string) {
		if zone, ok := class.findZone(class.nameOf(uid), true); ok && zone.Zone().UID == uid && !isCatalog(zone) {
			served[uid] = true
		}
	}
	for _, class := range s.roster.Load().classes {
		if len(class.views) == 0 {
			for _, uid := range class.uids() {
				count(class, uid)
			}
			continue
		}
		for zone := range s.zones.All() {
			count(class, zone.Zone().UID)
		}
	}
	return len(served)
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

// updater is an update key as the roster has it.
type updater struct {
	*updates.Key
	signing *tsig.SigningKey
	// advised is when the log last told of a client with another algorithm, in unix seconds.
	advised atomic.Int64
	// open are the zones of its view, as of a class that lets the key in.
	open []opening
}

func (s *classes) setUpdaters(keys []*updates.Key) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	updaters := map[string]*updater{}
	for _, key := range keys {
		signing, err := tsig.NewSigningKey(key.Key)
		if err != nil {
			return fmt.Errorf("update key %s: %w", key.ID, err)
		}
		updaters[key.Name] = &updater{Key: key, signing: signing,
			open: []opening{{Class: &Class{all: s, tenant: key.Tenant, views: []string{key.View}}}}}
	}
	after, err := newRoster(s.roster.Load().classes, updaters)
	if err != nil {
		return err
	}
	s.roster.Store(after)
	return nil
}

// updaterOf is the update key that signed a request; nil: none did.
func (r *roster) updaterOf(key *tsig.SigningKey) *updater {
	if key == nil {
		return nil
	}
	return r.updaters[key.Name]
}

// adviseInterval is the time between two lines of the log about the algorithm of a key, which any source can cause.
const adviseInterval = time.Minute

// adviseAlgorithm says what to set where a client signs with another algorithm than its update key has: most clients
// begin with HMAC-MD5 or HMAC-SHA1, which are not served. "" says nothing: it is another key, or was said a moment ago.
func (r *roster) adviseAlgorithm(known *tsig.SigningKey, asked string, now time.Time) string {
	u := r.updaterOf(known)
	if u == nil {
		return ""
	}
	last := u.advised.Load()
	if now.Unix()-last < int64(adviseInterval/time.Second) || !u.advised.CompareAndSwap(last, now.Unix()) {
		return ""
	}
	return fmt.Sprintf("a client of update key %s signs with %s, and the key is for %s: set the algorithm at the client",
		u.ID, strings.TrimSuffix(asked, "."), strings.TrimSuffix(string(u.Algorithm), "."))
}
