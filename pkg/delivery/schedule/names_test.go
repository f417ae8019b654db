// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

var org, net = name.MustParse("example.org."), name.MustParse("example.net.")

func (s *scene) addZone(uid string, zone name.Name) *deliverytest.Zone {
	w := deliverytest.NewZone(s.T, uid, zone.String(), s.worker.views)
	w.PutAddresses(map[string]string{"www": "198.51.100.1", uid: "198.51.100.2"})
	s.worker.SetZone(zoneOf(uid, "main"))
	return w
}

func (s *scene) expectReason(what string, uid string, reason delivery.Reason) {
	s.Helper()
	if got := s.store.readState(uid, "main").Ready.Reason; got != reason {
		s.Errorf("%s: %s says %s, want %s", what, uid, got, reason)
	}
}

// restartWorker starts another process, which learns the stored states from the controller.
func (s *scene) restartWorker(zones ...delivery.Zone) {
	s.replaceWorker(nil)
	s.store.notifyWorker(s.worker)
	s.memory = &deliverytest.Memory{Server: s.server, Blind: s.memory.Blind, Fault: s.memory.Fault}
	s.class.Provider = s.memory
	s.worker.SetClass(s.class)
	for _, zone := range zones {
		s.worker.SetZone(zone)
	}
	synctest.Wait()
}

// H7: a provider has a single zone of a name. Of two Zones in different views the first delivered keeps the name, also
// after a restart, until that Zone goes or leaves the class.
func TestLoop_oneZoneOfAName_H7(t *testing.T) {
	for _, leaves := range []string{"goes", "is gone", "another class", "retained"} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(leaves, restarts), func(t *testing.T) {
				inScene(t, func(s *scene) {
					s.class.AllowRetain = true
					s.beginScene()
					other := s.addZone("other", org)
					passTime(time.Hour)
					s.zone.PutAddresses(map[string]string{"mail": "192.0.2.9"})
					other.PutAddresses(map[string]string{"mail": "198.51.100.9"})
					passTime(time.Minute)
					if restarts {
						s.restartWorker(zoneOf("other", "main"), zoneOf("z", "main"))
						passTime(time.Hour)
					}
					s.zone.Expect(s.server)
					s.expectReason("the first", "z", delivery.ReasonDelivered)
					s.expectReason("the second", "other", delivery.ReasonConflict)
					if state := s.store.readState("other", "main"); !state.Zone.IsZero() {
						t.Errorf("it is said to be at the provider: %+v", state)
					}
					other.PutAddresses(map[string]string{"new": "198.51.100.3"})
					passTime(20 * time.Minute)
					s.zone.Expect(s.server)

					left := map[string]string{}
					switch leaves {
					case "goes":
						s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Remove: true})
					case "is gone":
						s.worker.RemoveZone("z")
						left = map[string]string{"mail.example.org.": "198.51.100.9"}
					case "another class":
						s.worker.SetZone(zoneOf("z"))
					case "retained":
						s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Remove: true, Retain: true})
						left = map[string]string{"mail.example.org.": "198.51.100.9"}
					}
					passTime(time.Second)
					want := other.ListWanted()
					maps.Copy(want, left)
					if got := s.server.Addresses(org); !maps.Equal(got, want) {
						t.Errorf("%v, want %v", got, want)
					}
					s.expectReason("the second", "other", delivery.ReasonDelivered)
				})
			})
		}
	}
}

// H7: if two Zones share a name at the start of a process, the older delivery keeps the name and the other changes
// nothing.
func TestLoop_twoOfANameFromBefore_H7(t *testing.T) {
	for _, secondGoes := range []bool{true, false} {
		twoOfAName(t, secondGoes)
	}
}

func twoOfAName(t *testing.T, secondGoes bool) {
	inScene(t, func(s *scene) {
		s.memory.Blind = true
		s.beginScene()
		passTime(time.Minute)
		other := s.addZone("other", org)
		passTime(time.Minute)
		s.worker.stop()
		state := s.store.readState("other", "main")
		at, _ := s.worker.views.Settled("other")
		state.Zone, state.Serial, state.Hash = org, at.Serial(), at.Hash()
		must.Get(s.store.Save(t.Context(), delivery.Key{UID: "other", Class: "main"}, state))(t)
		s.restartWorker(zoneOf("other", "main"), zoneOf("z", "main"))
		s.zone.PutAddresses(map[string]string{"new": "192.0.2.3"})
		passTime(time.Minute)
		s.zone.Expect(s.server)
		s.expectReason("the later", "other", delivery.ReasonConflict)
		leaves, stays := s.zone, other
		if secondGoes {
			leaves, stays = other, s.zone
		}
		s.worker.SetZone(delivery.Zone{UID: leaves.UID, Classes: []string{"main"}, Remove: true})
		passTime(time.Minute)
		stays.Expect(s.server)
		s.expectReason("the one that stays", stays.UID, delivery.ReasonDelivered)
		if state := s.store.readState(leaves.UID, "main"); state.Version != "" {
			t.Errorf("it does not go: %+v", state)
		}
	})
}

type listening struct {
	*deliverytest.Memory
	mu        sync.Mutex
	withdrawn []delivery.Plan
}

func (p *listening) Remove(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	p.mu.Lock()
	p.withdrawn = append(p.withdrawn, plan)
	p.mu.Unlock()
	return p.Memory.Remove(ctx, plan, fence)
}

// Two zones of the same name, each at its own class, swap their classes. Both are delivered in the end, and do not wait
// for each other forever (H7).
func TestLoop_classesAreSwapped_H7(t *testing.T) {
	inScene(t, func(s *scene) {
		elsewhere := deliverytest.NewServer()
		s.beginScene()
		s.worker.SetClass(delivery.Class{Name: "second", Generation: "1", Target: "there", Provider: &deliverytest.Memory{Server: elsewhere}})
		other := deliverytest.NewZone(s.T, "other", "example.org.", s.worker.views)
		other.PutAddresses(map[string]string{"www": "198.51.100.1"})
		s.worker.SetZone(zoneOf("other", "second"))
		passTime(time.Minute)
		s.zone.Expect(s.server)
		other.Expect(elsewhere)
		s.worker.SetZone(zoneOf("z", "second"))
		s.worker.SetZone(zoneOf("other", "main"))
		passTime(time.Minute)
		s.zone.Expect(elsewhere)
		other.Expect(s.server)
	})
}

// Two Zones may have the same name, and a class can deliver only one of them. While a failed write to etcd may have
// stored the first as holder of the name, the name is not free for the second (H7).
func TestLoop_aNameThatMayBeStoredIsNotFree_H7(t *testing.T) {
	inScene(t, func(s *scene) {
		s.worker.SetClass(s.class)
		away := func(method string, later bool) error {
			if method == "Load" && s.store.countWrites() > 0 || method == "Save" && later {
				return errors.New("etcd is away")
			}
			return nil
		}
		s.store.setFault(away)
		s.worker.SetZone(zoneOf("z", "main"))
		synctest.Wait()
		s.worker.SetZone(zoneOf("z"))
		synctest.Wait()
		s.store.setFault(nil)
		other := s.addZone("other", org)
		passTime(time.Second)
		s.expectReason("the one that comes before it is known", "other", delivery.ReasonConflict)
		passTime(time.Minute)
		other.Expect(s.server)
		s.expectReason("the one that comes after", "other", delivery.ReasonDelivered)
	})
}

// A removal lists all content possibly at the provider: the current zone plus the history that leads there.
func TestLoop_withdrawalFollowsItsHistory(t *testing.T) {
	inScene(t, func(s *scene) {
		provider := &listening{Memory: s.memory}
		s.class.Provider = provider
		s.beginScene()
		s.failProvider(func(_ context.Context, at deliverytest.Point) error {
			if at.Method == "Deliver" && at.Applied {
				return &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "the answer is lost"}
			}
			return nil
		})
		s.zone.PutAddresses(map[string]string{"www": "192.0.2.7", "new": "192.0.2.8"})
		synctest.Wait()
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Remove: true})
		passTime(time.Minute)
		if len(provider.withdrawn) == 0 {
			t.Fatal("not withdrawn")
		}
		plan := provider.withdrawn[0]
		existing := map[string]string{}
		for set := range plan.All {
			existing[set.Name.String()] = set.Data[0]
		}
		if !maps.Equal(existing, s.zone.ListWanted()) {
			t.Errorf("all of it is %v, want %v", existing, s.zone.ListWanted())
		}
		for _, change := range slices.Backward(plan.History) {
			for _, entry := range change.Added {
				if entry.Type != 1 {
					continue
				}
				if existing[entry.Name.String()] != entry.Data {
					t.Errorf("the history adds %s %s and what follows it has %q", entry.Name, entry.Data, existing[entry.Name.String()])
				}
				delete(existing, entry.Name.String())
			}
			for _, entry := range change.Removed {
				if entry.Type == 1 {
					existing[entry.Name.String()] = entry.Data
				}
			}
		}
		if want := map[string]string{"www.example.org.": "192.0.2.1", "mail.example.org.": "192.0.2.2"}; !maps.Equal(existing, want) {
			t.Errorf("before the history there were %v, want %v", existing, want)
		}
	})
}

// Several zones have few names and are created, moved and deleted at random. Each name then has the content of exactly
// one zone at the provider, and the other zones of the name report this (H7).
func TestLoop_fewNames_H7(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inScene(t, func(s *scene) { fewNames(s, uint64(seed)) })
		})
	}
}

func fewNames(s *scene, seed uint64) {
	random := &chance{rand: rand.New(rand.NewPCG(seed, 2))}
	names := []name.Name{org, net, name.MustParse("example.com.")}
	s.memory.Blind = random.oneIn(2)
	fault := &faultSwitch{chance: random}
	faults := func(ctx context.Context, at deliverytest.Point) error {
		if fault.Load() && random.oneIn(4) {
			return &delivery.Error{Reason: delivery.ReasonServerError, Message: "on fire", Permanent: at.Method == "Deliver" && random.oneIn(3)}
		}
		return nil
	}
	s.store.Fault = func(string, bool) error {
		if fault.Load() && random.oneIn(10) {
			return errors.New("etcd is away")
		}
		return nil
	}
	s.failProvider(faults)
	s.worker.SetClass(s.class)
	zones := []*deliverytest.Zone{s.zone}
	for n := range 4 {
		w := deliverytest.NewZone(s.T, fmt.Sprint("z", n), names[random.drawNumber(3)].String(), s.worker.views)
		w.PutAddresses(map[string]string{"www": fmt.Sprintf("198.51.100.%d", n), w.UID: "198.51.100.99"})
		zones = append(zones, w)
	}
	reported := map[string]delivery.Zone{}
	report := func(zone delivery.Zone) { reported[zone.UID] = zone; s.worker.SetZone(zone) }
	for _, zone := range zones {
		report(zoneOf(zone.UID, "main"))
	}
	for range 60 {
		zone := zones[random.drawNumber(len(zones))]
		uid := zone.UID
		switch random.drawNumber(8) {
		case 0, 1:
			report(delivery.Zone{UID: uid, Classes: []string{"main"}, Remove: true})
		case 2:
			report(delivery.Zone{UID: uid, Classes: []string{"main"}, Paused: random.oneIn(2)})
		case 3:
			report(delivery.Zone{UID: uid, FormerClasses: []string{"main"}})
		case 4:
			fault.Store(random.oneIn(2))
		case 5:
			s.restartWorker(slices.Collect(maps.Values(reported))...)
		default:
			zone.PutAddresses(map[string]string{string(rune('a' + random.drawNumber(4))): []string{"", "192.0.2.1",
				"192.0.2.2"}[random.drawNumber(3)]})
		}
		passTime(time.Duration(random.drawNumber(20_000)) * time.Millisecond)
	}
	fault.Store(false)
	for _, zone := range zones {
		report(zoneOf(zone.UID, "main"))
	}
	s.worker.Retry("main")
	passTime(3 * time.Hour)
	has, wanted := map[name.Name]*deliverytest.Zone{}, map[name.Name]bool{}
	for _, zone := range zones {
		wanted[zone.Header.FQDN] = true
	}
	for _, zone := range zones {
		state := s.store.readState(zone.UID, "main")
		switch at := zone.Header.FQDN; {
		case state.Ready.Reason == delivery.ReasonConflict && state.Zone.IsZero():
		case state.Ready.Status != delivery.True || state.Zone != at || state.Serial != zone.Serial || state.Intent != nil:
			s.Errorf("%s at %d: %+v", at, zone.Serial, state)
		case has[at] != nil:
			s.Errorf("two have %s", at)
		default:
			has[at] = zone
		}
	}
	for _, n := range names {
		switch {
		case has[n] != nil:
			has[n].Expect(s.server)
		case wanted[n]:
			s.Errorf("no delivery has %s", n)
		}
	}
}
