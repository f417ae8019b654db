// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

func TestLoop_withdraw(t *testing.T) {
	for _, c := range []struct {
		what   string
		then   delivery.Zone
		allows bool
		leaves bool
	}{
		{"class changed", zoneOf("z"), true, false},
		{"deleted", delivery.Zone{UID: "z", Classes: []string{"main"}, Remove: true}, true, false},
		{"deleted while paused", delivery.Zone{UID: "z", Classes: []string{"main"}, Remove: true, Paused: true}, true, false},
		{"retained (S8.4)", delivery.Zone{UID: "z", Classes: []string{"main"}, Remove: true, Retain: true}, true, true},
		{"to be retained at a class that does not allow it (S8.4)", delivery.Zone{UID: "z", Classes: []string{"main"}, Remove: true, Retain: true}, false, false},
		{"former class after a restart", delivery.Zone{UID: "z", FormerClasses: []string{"main"}}, true, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			inScene(t, func(s *scene) {
				s.class.AllowRetain = c.allows
				s.beginScene()
				s.server.Disturb(s.zone.Header.FQDN, delivery.RRset{Name: name.MustParse("theirs.example.org."), Type: 1, TTL: 1, Data: []string{"198.51.100.1"}})
				s.worker.SetZone(c.then)
				passTime(time.Minute)
				got := s.server.Addresses(s.zone.Header.FQDN)
				if want := map[bool]int{true: 3, false: 1}[c.leaves]; len(got) != want || got["theirs.example.org."] == "" {
					t.Errorf("left: %v", got)
				}
				if s.readState().Version != "" {
					t.Errorf("the state is still there: %+v", s.readState())
				}
				events := s.worker.events.eventsOf("z")
				if last := events[len(events)-1]; last.Outcome != delivery.OutcomeRemoved {
					t.Errorf("%+v", last)
				}
				count := len(events)
				s.worker.SetZone(c.then)
				passTime(time.Hour)
				if len(s.worker.events.eventsOf("z")) != count {
					t.Error("withdrawn more than once")
				}
				s.worker.SetZone(zoneOf("z", "main"))
				synctest.Wait()
				if s.readState().Serial != s.zone.Serial {
					t.Errorf("taken on again: %+v", s.readState())
				}
			})
		})
	}
}

// A delivery may be recorded under another name than the zone has now. Its data is removed under that name first, and
// then the zone is delivered under its own (S8.4).
func TestLoop_anotherName_S8_4(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		s.worker.stop()
		there := delivery.RRset{Name: name.MustParse("www.example.net."), Type: 1, TTL: 1, Data: []string{"192.0.2.1"}}
		before := s.readState()
		before.Zone = net
		before.Intent = &delivery.Intent{Serial: before.Serial, From: before.Serial, RRsets: []delivery.RRsetKey{there.Key()}}
		must.Get(s.store.Save(s.Context(), delivery.Key{UID: "z", Class: "main"}, before))(t)
		s.server.Adopt(net, there)
		s.startAgain(0)
		passTime(time.Minute)
		s.expectDelivered()
		if left := s.server.Addresses(net); len(left) > 0 || s.readState().Zone != org {
			t.Errorf("left: %v, %+v", left, s.readState())
		}
	})
}

// When a namespace is deleted, its Records go one by one before the zone. The zone's servers keep the content from
// before, at a fixed serial, until the zone itself is removed. This holds after a restart too.
func TestLoop_frozen(t *testing.T) {
	inScene(t, func(s *scene) {
		frozen, want := s.zone.Serial, s.zone.ListWanted()
		s.zone.PutAddresses(map[string]string{"www": ""})
		s.zone.PutAddresses(map[string]string{"mail": ""})
		s.worker.SetClass(s.class)
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, FrozenSerial: frozen})
		synctest.Wait()
		if got := s.server.Addresses(s.zone.Header.FQDN); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, FrozenSerial: frozen, Remove: true})
		synctest.Wait()
		if got := s.server.Addresses(s.zone.Header.FQDN); len(got) != 0 {
			t.Errorf("not withdrawn: %v", got)
		}
	})
}

// The removal of a zone is half done when the zone comes back. The missing half is then delivered again, by the same
// worker or by another after a restart.
func TestLoop_comesBackHalfWithdrawn(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		for _, blind := range []bool{false, true} {
			inScene(t, func(s *scene) {
				s.memory.Blind = blind
				s.beginScene()
				s.failProvider(func(_ context.Context, at deliverytest.Point) error {
					if at.Method == "Withdraw" && at.Set.Name == name.MustParse("www.example.org.") {
						return &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "gone"}
					}
					return nil
				})
				s.worker.SetZone(zoneOf("z"))
				passTime(time.Minute)
				if got := s.server.Addresses(s.zone.Header.FQDN); len(got) != 1 {
					t.Fatalf("not half withdrawn: %v", got)
				}
				s.failProvider(nil)
				if restarts {
					s.startAgain(0)
				}
				s.beginScene()
				passTime(time.Minute)
				s.zone.Expect(s.server)
			})
		}
	}
}

// S8.4: a zone that the provider denies for a day counts as removed, with an event. A zone that reappears within the
// day is removed at the provider, also after a failure to answer.
func TestLoop_withdrawnWhereTheZoneIsGone_S8_4(t *testing.T) {
	gone := &delivery.Error{Reason: delivery.ReasonZoneNotFound, Message: "no such zone"}
	away := &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "no connection"}
	for _, restarts := range []bool{false, true} {
		for _, test := range []struct {
			what  string
			then  *delivery.Error
			after time.Duration // until the removal
			left  bool
		}{
			{"gone", gone, 24 * time.Hour, true},
			{"back", nil, 23 * time.Hour, false},
			{"out of reach for a while", away, 23*time.Hour + 24*time.Hour, true},
		} {
			inScene(t, func(s *scene) {
				var answers atomic.Pointer[delivery.Error]
				answers.Store(gone)
				s.beginScene()
				s.failProvider(func(_ context.Context, at deliverytest.Point) error {
					if answer := answers.Load(); at.Method == "Withdraw" && answer != nil {
						return answer
					}
					return nil
				})
				zone := zoneOf("z", "main")
				zone.Remove = true
				s.worker.SetZone(zone)
				passTime(12 * time.Hour)
				if restarts {
					s.replaceWorker(nil)
					s.store.notifyWorker(s.worker)
					s.worker.SetClass(s.class)
					s.worker.SetZone(zone)
				}
				passTime(11 * time.Hour)
				if state := s.readState(); state.Version == "" || state.Error == nil || state.Error.Reason != delivery.ReasonZoneNotFound {
					t.Fatalf("%s, restarts %v: after 23 hours: %+v", test.what, restarts, state)
				}
				if answers.Store(test.then); test.then == away {
					passTime(time.Hour)
					answers.Store(gone)
				}
				passTime(test.after - 23*time.Hour + 20*time.Minute)
				events := s.worker.events.eventsOf("z")
				last := events[len(events)-1]
				if state := s.readState(); state.Version != "" || last.Outcome != delivery.OutcomeRemoved ||
					last.AbsentZone.IsZero() == test.left {
					t.Errorf("%s, restarts %v: %s, absent %v, state %+v", test.what, restarts, last.Outcome, last.AbsentZone, state)
				}
				if left := s.server.Addresses(s.zone.Header.FQDN); len(left) > 0 != test.left {
					t.Errorf("%s, restarts %v: left %v", test.what, restarts, left)
				}
			})
		}
	}
}
