// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery_test

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
)

var org, net = name.MustParse("example.org."), name.MustParse("example.net.")

// another is a second zone of the scene, which has other data under the same owners.
func (s *scene) another(uid string, zone name.Name) *writer {
	w := newWriter(s.T, uid, zone.String(), s.worker.views)
	w.put(map[string]string{"www": "198.51.100.1", uid: "198.51.100.2"})
	s.worker.SetZone(zoneOf(uid, "main"))
	return w
}

// says is the Ready of a delivery to class main.
func (s *scene) says(uid string) delivery.Reason { return s.store.state(uid, "main").Ready.Reason }

func (s *scene) want(what string, uid string, reason delivery.Reason) {
	s.Helper()
	if got := s.says(uid); got != reason {
		s.Errorf("%s: %s says %s, want %s", what, uid, got, reason)
	}
}

// restart has another process go on, that was told what is stored as a controller tells it.
func (s *scene) restart(zones ...delivery.Zone) {
	s.worker.stop()
	s.worker = startWorker(s.T, s.store, s.worker.views, nil)
	s.store.told(s.worker)
	s.memory = &deliverytest.Memory{Server: s.server, Blind: s.memory.Blind, Fault: s.memory.Fault}
	s.class.Provider = s.memory
	s.worker.SetClass(s.class)
	for _, zone := range zones {
		s.worker.SetZone(zone)
	}
	synctest.Wait()
}

// H7: at a provider there is one zone of a name. Of two Zones of different views the one that was delivered first is
// there, alone and also after a restart, until it goes or leaves the class; then the other one is, at once.
func TestLoop_oneZoneOfAName_H7(t *testing.T) {
	for _, leaves := range []string{"goes", "is gone", "another class", "retained"} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(leaves, restarts), func(t *testing.T) {
				inScene(t, func(s *scene) {
					s.class.AllowRetain = true
					s.start()
					other := s.another("other", org)
					after(time.Hour)
					s.zone.put(map[string]string{"mail": "192.0.2.9"})
					other.put(map[string]string{"mail": "198.51.100.9"})
					after(time.Minute)
					if restarts {
						s.restart(zoneOf("other", "main"), zoneOf("z", "main"))
						after(time.Hour)
					}
					s.zone.expect(s.server)
					s.want("the first", "z", delivery.ReasonDelivered)
					s.want("the second", "other", delivery.ReasonConflict)
					if state := s.store.state("other", "main"); !state.Zone.IsZero() {
						t.Errorf("it is said to be at the provider: %+v", state)
					}
					other.put(map[string]string{"new": "198.51.100.3"})
					after(20 * time.Minute)
					s.zone.expect(s.server)

					left := map[string]string{}
					switch leaves {
					case "goes":
						s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true})
					case "is gone":
						s.worker.RemoveZone("z")
						left = map[string]string{"mail.example.org.": "198.51.100.9"}
					case "another class":
						s.worker.SetZone(zoneOf("z"))
					case "retained":
						s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true, Retain: true})
						left = map[string]string{"mail.example.org.": "198.51.100.9"}
					}
					after(time.Second)
					want := other.want()
					maps.Copy(want, left)
					if got := stands(s.server, org); !maps.Equal(got, want) {
						t.Errorf("%v, want %v", got, want)
					}
					s.want("the second", "other", delivery.ReasonDelivered)
				})
			})
		}
	}
}

// H7: where two had one name already when a process began, the one of which the delivery was made first has it, and
// the other one leaves it alone.
func TestLoop_twoOfANameFromBefore_H7(t *testing.T) {
	for _, secondGoes := range []bool{true, false} {
		twoOfAName(t, secondGoes)
	}
}

func twoOfAName(t *testing.T, secondGoes bool) {
	inScene(t, func(s *scene) {
		s.memory.Blind = true
		s.start()
		after(time.Minute)
		other := s.another("other", org)
		after(time.Minute)
		s.worker.stop()
		state := s.store.state("other", "main")
		at, _ := s.worker.views.Settled("other")
		state.Zone, state.Serial, state.Hash = org, at.Serial(), at.Hash()
		if _, err := s.store.Save(t.Context(), delivery.Key{UID: "other", Class: "main"}, state); err != nil {
			t.Fatal(err)
		}
		s.restart(zoneOf("other", "main"), zoneOf("z", "main"))
		s.zone.put(map[string]string{"new": "192.0.2.3"})
		after(time.Minute)
		s.zone.expect(s.server)
		s.want("the later", "other", delivery.ReasonConflict)
		leaves, stays := s.zone, other
		if secondGoes {
			leaves, stays = other, s.zone
		}
		s.worker.SetZone(delivery.Zone{UID: leaves.zone.UID, Classes: []string{"main"}, Withdraw: true})
		after(time.Minute)
		stays.expect(s.server)
		s.want("the one that stays", stays.zone.UID, delivery.ReasonDelivered)
		if state := s.store.state(leaves.zone.UID, "main"); state.Version != "" {
			t.Errorf("it does not go: %+v", state)
		}
	})
}

// listening hears what it is asked to withdraw.
type listening struct {
	*deliverytest.Memory
	mu        sync.Mutex
	withdrawn []delivery.Plan
}

func (p *listening) Withdraw(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	p.mu.Lock()
	p.withdrawn = append(p.withdrawn, plan)
	p.mu.Unlock()
	return p.Memory.Withdraw(ctx, plan, fence)
}

// H7: two zones of one name that change places between two classes both arrive.
func TestLoop_classesAreSwapped_H7(t *testing.T) {
	inScene(t, func(s *scene) {
		elsewhere := deliverytest.NewServer()
		s.start()
		s.worker.SetClass(delivery.Class{Name: "second", Generation: "1", Target: "there", Provider: &deliverytest.Memory{Server: elsewhere}})
		other := newWriter(s.T, "other", "example.org.", s.worker.views)
		other.put(map[string]string{"www": "198.51.100.1"})
		s.worker.SetZone(zoneOf("other", "second"))
		after(time.Minute)
		s.zone.expect(s.server)
		other.expect(elsewhere)
		s.worker.SetZone(zoneOf("z", "second"))
		s.worker.SetZone(zoneOf("other", "main"))
		after(time.Minute)
		s.zone.expect(elsewhere)
		other.expect(s.server)
	})
}

// H7: a name whose holder is not known to be stored is not free: it may have been.
func TestLoop_aNameThatMayBeStoredIsNotFree_H7(t *testing.T) {
	inScene(t, func(s *scene) {
		s.worker.SetClass(s.class)
		away := func(method string, later bool) error {
			if method == "Load" && s.store.written() > 0 || method == "Save" && later {
				return errors.New("etcd is away")
			}
			return nil
		}
		s.store.fail(away)
		s.worker.SetZone(zoneOf("z", "main"))
		synctest.Wait()
		s.worker.SetZone(zoneOf("z"))
		synctest.Wait()
		s.store.fail(func(method string, later bool) error {
			return nil
		})
		other := s.another("other", org)
		after(time.Second)
		s.want("the one that comes before it is known", "other", delivery.ReasonConflict)
		after(time.Minute)
		other.expect(s.server)
		s.want("the one that comes after", "other", delivery.ReasonDelivered)
	})
}

// A zone that could not be delivered for want of a provider is Ready again when there is one, though nothing changed
// meanwhile.
func TestLoop_providerComesBack(t *testing.T) {
	inScene(t, func(s *scene) {
		s.start()
		without := s.class
		without.Generation, without.Provider, without.Err = "2", nil, delivery.Errorf(delivery.ReasonSecretNotFound, "no Secret")
		s.worker.SetClass(without)
		after(time.Minute)
		s.want("without a Secret", "z", delivery.ReasonSecretNotFound)
		s.memory = &deliverytest.Memory{Server: s.server}
		s.class.Generation, s.class.Provider = "3", s.memory
		s.worker.SetClass(s.class)
		after(time.Second)
		s.want("with it again", "z", delivery.ReasonDelivered)
	})
}

// A provider is asked to withdraw all content that may stand there: all of the zone as it is, with the history that
// leads there.
func TestLoop_withdrawalFollowsItsHistory(t *testing.T) {
	inScene(t, func(s *scene) {
		provider := &listening{Memory: s.memory}
		s.class.Provider = provider
		s.start()
		s.fault(func(_ context.Context, at deliverytest.Point) error {
			if at.Method == "Deliver" && at.Applied {
				return &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "the answer is lost"}
			}
			return nil
		})
		s.zone.put(map[string]string{"www": "192.0.2.7", "new": "192.0.2.8"})
		synctest.Wait()
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true})
		after(time.Minute)
		if len(provider.withdrawn) == 0 {
			t.Fatal("not withdrawn")
		}
		plan := provider.withdrawn[0]
		stands := map[string]string{}
		for set := range plan.All {
			stands[set.Name.String()] = set.Data[0]
		}
		if !maps.Equal(stands, s.zone.want()) {
			t.Errorf("all of it is %v, want %v", stands, s.zone.want())
		}
		for _, change := range slices.Backward(plan.History) {
			for _, entry := range change.Added {
				if entry.Type != 1 {
					continue
				}
				if stands[entry.Name.String()] != entry.Data {
					t.Errorf("the history adds %s %s and what follows it has %q", entry.Name, entry.Data, stands[entry.Name.String()])
				}
				delete(stands, entry.Name.String())
			}
			for _, entry := range change.Removed {
				if entry.Type == 1 {
					stands[entry.Name.String()] = entry.Data
				}
			}
		}
		if want := map[string]string{"www.example.org.": "192.0.2.1", "mail.example.org.": "192.0.2.2"}; !maps.Equal(stands, want) {
			t.Errorf("before the history there were %v, want %v", stands, want)
		}
	})
}

// H7: whatever zones of few names do, at rest each name has one of those that want it, all of that one and nothing
// else; the others say so.
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
	trouble := &trouble{chance: random}
	faults := func(ctx context.Context, at deliverytest.Point) error {
		if trouble.lasts() && random.oneIn(4) {
			return &delivery.Error{Reason: delivery.ReasonServerError, Message: "on fire", Permanent: at.Method == "Deliver" && random.oneIn(3)}
		}
		return nil
	}
	s.store.Fault = func(string, bool) error {
		if trouble.lasts() && random.oneIn(10) {
			return errors.New("etcd is away")
		}
		return nil
	}
	s.fault(faults)
	s.worker.SetClass(s.class)
	zones := []*writer{s.zone}
	for n := range 4 {
		w := newWriter(s.T, fmt.Sprint("z", n), names[random.n(3)].String(), s.worker.views)
		w.put(map[string]string{"www": fmt.Sprintf("198.51.100.%d", n), w.zone.UID: "198.51.100.99"})
		zones = append(zones, w)
	}
	told := map[string]delivery.Zone{}
	tell := func(zone delivery.Zone) { told[zone.UID] = zone; s.worker.SetZone(zone) }
	for _, zone := range zones {
		tell(zoneOf(zone.zone.UID, "main"))
	}
	for range 60 {
		zone := zones[random.n(len(zones))]
		uid := zone.zone.UID
		switch random.n(8) {
		case 0, 1:
			tell(delivery.Zone{UID: uid, Classes: []string{"main"}, Withdraw: true})
		case 2:
			tell(delivery.Zone{UID: uid, Classes: []string{"main"}, Paused: random.oneIn(2)})
		case 3:
			tell(delivery.Zone{UID: uid, Former: []string{"main"}})
		case 4:
			trouble.set(random.oneIn(2))
		case 5:
			s.restart(slices.Collect(maps.Values(told))...)
		default:
			zone.put(map[string]string{string(rune('a' + random.n(4))): []string{"", "192.0.2.1", "192.0.2.2"}[random.n(3)]})
		}
		after(time.Duration(random.n(20_000)) * time.Millisecond)
	}
	trouble.set(false)
	for _, zone := range zones {
		tell(zoneOf(zone.zone.UID, "main"))
	}
	s.worker.Retry("main")
	after(3 * time.Hour)
	has, wanted := map[name.Name]*writer{}, map[name.Name]bool{}
	for _, zone := range zones {
		wanted[zone.header.FQDN] = true
	}
	for _, zone := range zones {
		state := s.store.state(zone.zone.UID, "main")
		switch at := zone.header.FQDN; {
		case state.Ready.Reason == delivery.ReasonConflict && state.Zone.IsZero():
		case state.Ready.Status != delivery.True || state.Zone != at || state.Serial != zone.serial || state.Intent != nil:
			s.Errorf("%s at %d: %+v", at, zone.serial, state)
		case has[at] != nil:
			s.Errorf("two have %s", at)
		default:
			has[at] = zone
		}
	}
	for _, n := range names {
		switch {
		case has[n] != nil:
			has[n].expect(s.server)
		case wanted[n]:
			s.Errorf("no delivery has %s", n)
		}
	}
}
