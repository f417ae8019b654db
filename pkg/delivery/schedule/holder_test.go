// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

var errAway = errors.New("etcd is away")

func failSaves(method string, _ bool) error {
	if method == "Save" {
		return errAway
	}
	return nil
}

// F22: a worker paused between two writes, past every deadline, writes nothing after another one took over: with the
// intent of a first delivery, and without an intent.
func TestLoop_pausedWorkerWritesNothing_F22(t *testing.T) {
	for _, first := range []string{"is in its first delivery", "begins before the second reads", "begins after the second has read"} {
		synctest.Test(t, func(t *testing.T) {
			store, server := newStore(), deliverytest.NewServer()
			oldView, newView := zoneview.NewSet(zoneview.Config{}), zoneview.NewSet(zoneview.Config{})
			zone := deliverytest.NewZone(t, "z", "example.org.", oldView, newView)
			zone.PutAddresses(map[string]string{"a": "192.0.2.1", "b": "192.0.2.1", "c": "192.0.2.1"})
			hold := makeFlag(false)
			wake := make(chan struct{})
			class := delivery.Class{Name: "main", Generation: "1", Target: "here"}
			class.Provider = &deliverytest.Memory{Server: server, Fault: func(_ context.Context, at deliverytest.Point) error {
				if hold.Load() && at.Applied {
					<-wake
				}
				return nil
			}}
			hold.Store(first == "is in its first delivery")
			paused := startWorker(t, store, oldView, nil)
			defer paused.stop()
			paused.SetClass(class)
			paused.SetZone(zoneOf("z", "main"))
			synctest.Wait()
			begin := func() {
				hold.Store(true)
				zone.PutAddresses(map[string]string{"a": "192.0.2.2", "b": "", "c": "192.0.2.2"})
				synctest.Wait()
			}
			var second *worker
			take := func() {
				second = startWorker(t, store, newView, nil)
				class.Provider = &deliverytest.Memory{Server: server}
				second.SetClass(class)
				second.SetZone(zoneOf("z", "main"))
				synctest.Wait()
			}
			switch first {
			case "is in its first delivery":
				zone.Sets = zone.Sets[1:] // the paused worker misses the rest
				take()
			case "begins after the second has read":
				take()
				zone.Sets = zone.Sets[:1]
				begin()
				zone.Sets = []*zoneview.Set{newView}
				snapshot, _ := oldView.Settled("z")
				newView.Put(snapshot, true)
			case "begins before the second reads":
				begin()
				zone.Sets = zone.Sets[1:]
				take()
			}
			defer second.stop()
			old := zone.Serial
			if intent := store.readState("z", "main").Intent; first != "is in its first delivery" && intent != nil && intent.Holder == "worker" {
				t.Fatalf("the first one recorded an intent: %+v", intent)
			}
			// The zone returns to its confirmed content except an RRset, so partial writes show as no difference.
			zone.PutAddresses(map[string]string{"a": "192.0.2.1", "b": "192.0.2.1", "c": "192.0.2.1", "d": "192.0.2.3"})
			passTime(time.Minute)
			zone.Expect(server)
			before := len(server.Writes())
			close(wake)
			passTime(5 * time.Minute)
			for _, write := range server.Writes()[before:] {
				if write.Serial == old {
					t.Errorf("the first %s: it wrote %v after it woke", first, write)
				}
			}
			zone.Expect(server)
			if state := store.readState("z", "main"); state.Serial != zone.Serial || state.Intent != nil {
				t.Errorf("the first %s: %+v", first, state)
			}
		})
	}
}

// F23, F24: a write begun without an intent is repeated while the store fails and after a crash, even if the zone has
// changed back.
func TestLoop_unknownOutcomeWithoutAnIntent_F23(t *testing.T) {
	for _, blind := range []bool{false, true} {
		for _, crashes := range []bool{false, true} {
			inScene(t, func(s *scene) {
				s.memory.Blind = blind
				s.beginScene()
				s.failProvider(func(_ context.Context, at deliverytest.Point) error {
					if at.Applied {
						return errors.New("the answer was lost")
					}
					return nil
				})
				s.store.setFault(failSaves)
				s.zone.PutAddresses(map[string]string{"brief": "192.0.2.7"})
				synctest.Wait()
				if got := s.server.Addresses(s.zone.Header.FQDN); got["brief.example.org."] == "" {
					t.Fatal("it was not applied")
				}
				if state := s.readState(); state.Intent != nil {
					t.Fatalf("nothing could be stored: %+v", state)
				}
				if crashes {
					s.worker.stop()
				}
				s.failProvider(nil)
				s.store.setFault(nil)
				s.zone.PutAddresses(map[string]string{"brief": ""})
				if crashes {
					s.startAgain(0)
				}
				passTime(5 * time.Minute)
				s.expectDelivered("blind ", blind, ", crashes ", crashes)
			})
		}
	}
}

// When a zone moves to another class, the old class removes its data only after the new class has delivered. So at
// every moment a class serves the zone.
func TestLoop_movedBetweenClasses(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		second := deliverytest.NewServer()
		broken := makeFlag(true)
		s.worker.SetClass(delivery.Class{Name: "second", Generation: "1", Target: "there", Provider: &deliverytest.Memory{Server: second, Fault: func(context.Context, deliverytest.Point) error {
			if broken.Load() {
				return &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "not there yet"}
			}
			return nil
		}}})
		want := s.zone.ListWanted()
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"second"}})
		passTime(time.Hour)
		if got := s.server.Addresses(s.zone.Header.FQDN); !maps.Equal(got, want) {
			t.Fatalf("the old class was withdrawn before the new one delivered: %v", got)
		}
		broken.Store(false)
		passTime(20 * time.Minute)
		s.zone.Expect(second)
		if left := s.server.Addresses(s.zone.Header.FQDN); len(left) != 0 {
			t.Errorf("left at the old class: %v", left)
		}
		if s.readState().Version != "" {
			t.Errorf("the old state is there: %+v", s.readState())
		}
	})
}

// A class that may no longer deliver a zone is expelled and loses the zone at once. Otherwise a zone that moves stays
// at the old class until the new class has it, and the new class may not exist.
func TestLoop_expelled(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"nowhere"}})
		passTime(time.Hour)
		s.zone.Expect(s.server)
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"nowhere"}, ExpelledClasses: []string{"main"}})
		synctest.Wait()
		if left := s.server.Addresses(s.zone.Header.FQDN); len(left) != 0 || s.readState().Version != "" {
			t.Errorf("left: %v, %+v", left, s.readState())
		}
	})
}

// If a zone moves to a class that delivers to the same servers, the new class takes over the data there. It writes
// nothing, and the old class removes nothing.
func TestLoop_movedToTheSameTarget(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		inScene(t, func(s *scene) {
			s.memory.Blind = true
			s.beginScene()
			before := len(s.server.Writes())
			if restarts {
				s.replaceWorker(nil)
				s.class.Provider = &deliverytest.Memory{Server: s.server, Blind: true}
				s.worker.SetClass(s.class)
			}
			s.worker.SetClass(delivery.Class{Name: "second", Generation: "1", Target: "here", Provider: &deliverytest.Memory{Server: s.server, Blind: true}})
			s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"second"}, FormerClasses: []string{"main"}})
			passTime(time.Minute)
			if wrote := s.server.Writes()[before:]; len(wrote) != 0 {
				t.Errorf("restarts %v: written: %v", restarts, wrote)
			}
			if state := s.store.readState("z", "second"); state.Serial != s.zone.Serial || state.Intent != nil ||
				s.readState().Version != "" {
				t.Errorf("restarts %v: %+v, and the old one %+v", restarts, state, s.readState())
			}
			s.zone.PutAddresses(map[string]string{"mail": "", "new": "192.0.2.5"})
			synctest.Wait()
			s.zone.Expect(s.server)
		})
	}
}

// A worker that confirmed the last serial may write without recording its intent first. If another worker confirmed the
// same serial meanwhile, this is no longer allowed, because both would write at the same time (F22).
func TestLoop_anotherConfirmedMeanwhile_F22(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		key := delivery.Key{UID: "z", Class: "main"}
		foreign := s.readState()
		foreign.Holder = "another"
		must.Get(s.store.Save(s.Context(), key, foreign))(t)
		before := len(s.server.Writes())
		s.zone.PutAddresses(map[string]string{"www": "192.0.2.9"})
		passTime(500 * time.Millisecond)
		if wrote := s.server.Writes()[before:]; len(wrote) != 0 {
			t.Errorf("written without an intent beside another worker: %v", wrote)
		}
		passTime(2 * time.Minute)
		if s.expectDelivered(); s.readState().Holder == "another" {
			t.Error("not taken over")
		}
	})
}

// A worker takes over a delivery that a dead worker began, and the provider refuses an RRset. The RRset stays pending
// for a worker that takes over next, both before and after the repetition.
func TestLoop_refusedAndTakenOverTwice(t *testing.T) {
	inScene(t, func(s *scene) {
		poison := name.MustParse("poison.example.org.")
		s.zone.PutAddresses(map[string]string{"poison": "192.0.2.66"})
		refuse := func(set delivery.RRset) *delivery.Error {
			if set.Name == poison && len(set.Data) > 0 {
				return &delivery.Error{Reason: delivery.ReasonValidationFailed, Message: "not this one", Permanent: true}
			}
			return nil
		}
		key := delivery.Key{UID: "z", Class: "main"}
		begun := delivery.State{Zone: s.zone.Header.FQDN, Target: "here", Intent: &delivery.Intent{Serial: s.zone.Serial, From: s.zone.Serial, Holder: "dead", Time: time.Now()}}
		must.Get(s.store.Save(s.Context(), key, begun))(t)
		take := func(refuse func(delivery.RRset) *delivery.Error) {
			s.worker.stop()
			s.class.Provider = &deliverytest.Memory{Server: s.server, Blind: true, Refuse: refuse}
			s.worker = startWorker(s.T, s.store, s.worker.views, nil)
			s.beginScene()
		}
		take(refuse)
		if state := s.readState(); state.Serial != s.zone.Serial || state.Failed != 1 || state.Intent == nil {
			t.Fatalf("%+v", state)
		}
		take(nil) // before the repeat
		passTime(5 * time.Minute)
		s.expectDelivered()
	})
}
