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

	"go.opentelemetry.io/otel/trace"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

type classes struct {
	zones    Zones
	catalogs *zoneview.Set
	changes  *changeQueue
	faults   *tlsFaults
	traces   trace.TracerProvider // may be nil
	log      klog.Logger

	// hasTLS is true if this primary has a port for TLS.
	hasTLS bool

	registry   atomic.Pointer[registry]
	registryMu sync.Mutex // guards the replacement of registry
}

// peerIndex summarizes the keys and rules of a class, to find quickly the classes that may admit a message.
type peerIndex struct {
	keys tsig.Keyring
	// byAddress is true if a rule admits messages without a key. anyAddress is true if a rule has no source prefixes
	// and so admits its key, or each certificate of the class, from every source.
	byAddress, anyAddress bool
}

func newPeerIndex(keys tsig.Keyring, rules []Rule) peerIndex {
	by := peerIndex{keys: keys}
	for _, rule := range rules {
		by.byAddress = by.byAddress || len(rule.Prefixes) > 0 || rule.Key == ""
		by.anyAddress = by.anyAddress || len(rule.Prefixes) == 0
	}
	return by
}

// registry is an immutable list of all classes and update keys.
type registry struct {
	keys    tsig.Keyring // of all classes and updaters
	classes []*Class     // sorted by name
	// byKey contains the classes with a key, and byAddress those with source prefixes or without a key, both sorted by
	// name.
	byKey     map[string][]*Class
	byAddress []*Class
	updaters  map[string]*updater // update keys by name
	// anyAddress is true if some key is admitted from every source.
	anyAddress bool
}

func newClasses(config *Config, keys tsig.Keyring, log klog.Logger) *classes {
	s := &classes{zones: config.Zones, catalogs: zoneview.NewSet(zoneview.Config{}), changes: newChangeQueue(), traces: config.Traces,
		faults: newTLSFaults(config.NotifyFaultAfter, log), hasTLS: config.ListenTLS.IsValid(), log: log}
	nameless := &Class{parent: s, views: config.Views, access: config.Allow, notify: config.Notify, peers: newPeerIndex(keys, config.Allow)}
	first, _ := newRegistry([]*Class{nameless}, nil) // a single class has no conflicts
	s.registry.Store(first)
	return s
}

func (s *classes) addClass(c ClassConfig, of Membership) (*Class, error) {
	if c.Name == "" {
		return nil, errors.New("primary: class: Name: required")
	}
	class := &Class{parent: s, name: c.Name, tenant: c.Tenant, membership: of}
	class.members, class.byName = nameMembers(of.Members, c.Catalog)
	return class, class.configureClass(c, true)
}

// newRegistry indexes the classes and update keys. The error names a key with two definitions. An update key with the
// name of a class's key is left out, because the class came first.
func newRegistry(classes []*Class, updaters map[string]*updater) (*registry, error) {
	after := &registry{keys: tsig.Keyring{}, classes: classes, byKey: map[string][]*Class{}, updaters: map[string]*updater{}}

	for _, c := range after.classes {
		by := &c.peers
		after.anyAddress = after.anyAddress || by.anyAddress
		if by.byAddress {
			after.byAddress = append(after.byAddress, c)
		}
		for keyName, k := range by.keys {
			// Two tenants: team-b could otherwise replace the key "transfer" of team-a, and read its zones.
			if known, ok := after.keys[keyName]; ok && !known.SameAs(k) {
				return nil, fmt.Errorf("class: Keys: %q is another key in another class; a message identifies its key by the name "+
					"alone, so rename one of them", k)
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

// admittingClass is a class that admits a message. signs is true if the sender signs zones.
type admittingClass struct {
	*Class
	signs bool
}

// classesFor returns the classes that admit a message, and those that would if the sender had proven itself by TLS.
func (r *registry) classesFor(from sender, key *tsig.SigningKey, now time.Time) (open []admittingClass, inClear []*Class) {
	for _, c := range r.candidatesFor(key) {
		allowed, signs, hasTLS := c.allows(from.addr, key, func(of *ClassTLS) bool {
			return from.tls != nil && from.tls.judgeFor(of, now) == nil
		})
		switch {
		case allowed && hasTLS:
			open = append(open, admittingClass{c, signs})
		case allowed:
			inClear = append(inClear, c)
		}
	}
	return open, inClear
}

func (r *registry) candidatesFor(key *tsig.SigningKey) []*Class {
	if key == nil {
		return r.byAddress
	}
	may := slices.Concat(r.byAddress, r.byKey[key.Name])
	slices.SortFunc(may, compareNames)
	return slices.Compact(may)
}

func compareNames(a, b *Class) int { return cmp.Compare(a.name, b.name) }

func tenantOf(open []admittingClass) string {
	if slices.ContainsFunc(open, func(class admittingClass) bool { return class.tenant == "" }) {
		return ""
	}
	return open[0].tenant
}

// trustOf returns how much of a connection's resources a source may use before its first message. A source admitted
// only by a tenant's rules stays unproven, because a tenant can name any prefix.
func (r *registry) trustOf(from netip.Addr) trust {
	level := outsider
	if r.anyAddress {
		level = unproven
	}
	for _, c := range r.byAddress {
		has := c.trustOf(from)
		if c.tenant != "" {
			has = min(has, unproven)
		}
		level = max(level, has)
	}
	return level
}

func (s *classes) zonesOf(zone *zoneview.Snapshot) interface {
	Difference(*zoneview.Snapshot, serial.Serial) (zoneview.Difference, error)
	Changes(string, serial.Serial, serial.Serial) ([]content.Step, error)
} {
	if isCatalog(zone) {
		return s.catalogs
	}
	return s.zones
}

// countServed returns the number of zones for transfer in all classes, catalogs not counted. A zone of several classes
// counts once.
func (s *classes) countServed() int {
	served := map[string]bool{}
	count := func(class *Class, uid string) {
		// Another zone of the same name may come first.
		if zone, ok := class.findZone(class.nameOf(uid), true); ok && zone.Zone().UID == uid && !isCatalog(zone) {
			served[uid] = true
		}
	}
	for _, class := range s.registry.Load().classes {
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

// publishCatalogs publishes the catalogs of all classes until ctx ends. A change wakes the loop, and a timer runs for
// the catalog due first.
func (s *classes) publishCatalogs(ctx context.Context, clock func() time.Time) {
	for {
		wait := time.Hour // a look for nothing
		for _, class := range s.registry.Load().classes {
			if due := class.publishCatalog(clock()); due > 0 {
				wait = min(wait, due)
			}
		}
		select {
		case <-s.changes.wakeCatalogs:
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// changeQueue collects the zones for which secondaries must get a NOTIFY.
type changeQueue struct {
	mu sync.Mutex
	// pending is keyed by class and zone. A nil class means all classes of the zone, and an empty UID all zones of the
	// class. The value is true if the NOTIFY also goes to secondaries that have confirmed the serial.
	pending map[classUID]bool
	// A value in a channel wakes runNotifier or publishCatalogs.
	wakeNotifier chan struct{}
	wakeCatalogs chan struct{}
}

type classUID struct {
	class *Class
	uid   string
}

func newChangeQueue() *changeQueue {
	return &changeQueue{pending: map[classUID]bool{}, wakeNotifier: make(chan struct{}, 1), wakeCatalogs: make(chan struct{}, 1)}
}

func (s *changeQueue) add(at classUID, again bool) {
	s.mu.Lock()
	s.pending[at] = s.pending[at] || again
	s.mu.Unlock()
	wake(s.wakeNotifier)
}

func (s *changeQueue) takePending() map[classUID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	noted := s.pending
	s.pending = map[classUID]bool{}
	return noted
}

func wake(loop chan<- struct{}) {
	select {
	case loop <- struct{}{}:
	default:
	}
}

type updater struct {
	*updates.Key
	signing *tsig.SigningKey
	advised atomic.Int64 // unix seconds
	// classes contains a single class, with the zones in the key's view.
	classes []admittingClass
}

// setUpdaters replaces the update keys in the registry. After an error the former keys stay in use.
func (s *classes) setUpdaters(keys []*updates.Key) error {
	s.registryMu.Lock()
	defer s.registryMu.Unlock()

	before, updaters := s.registry.Load(), map[string]*updater{}

	for _, key := range keys {
		signing, err := tsig.NewSigningKey(key.Key)
		if err != nil {
			return fmt.Errorf("update key %s: %w", key.ID, err)
		}
		u := &updater{Key: key, signing: signing,
			classes: []admittingClass{{Class: &Class{parent: s, tenant: key.Tenant, views: []string{key.View}}}}}
		// Keys are set again at each change of any UpdateKey, and the advice must not be logged as often.
		if known := before.updaters[key.Name]; known != nil {
			u.advised.Store(known.advised.Load())
		}
		updaters[key.Name] = u
	}

	after, err := newRegistry(before.classes, updaters)
	if err != nil {
		return err
	}
	s.registry.Store(after)
	return nil
}

func (r *registry) updaterOf(key *tsig.SigningKey) *updater {
	if key == nil {
		return nil
	}
	return r.updaters[key.Name]
}

// adviseInterval limits the log lines for an update key, because any source can cause them.
const adviseInterval = time.Minute

// adviseAlgorithm returns a log message for a client that signs with another algorithm than the update key's, at most
// once in adviseInterval for a key; "" otherwise.
func (r *registry) adviseAlgorithm(known *tsig.SigningKey, asked string, now time.Time) string {
	u := r.updaterOf(known)
	if u == nil {
		return ""
	}
	last := u.advised.Load()
	// Of two messages at a time only one wins the swap and logs.
	if now.Unix()-last < int64(adviseInterval/time.Second) || !u.advised.CompareAndSwap(last, now.Unix()) {
		return ""
	}
	return fmt.Sprintf("a client of update key %s signs with %s, and the key is for %s: set the algorithm at the client",
		u.ID, strings.TrimSuffix(asked, "."), strings.TrimSuffix(string(u.Algorithm), "."))
}
