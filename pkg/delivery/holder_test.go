// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
)

var errAway = errors.New("etcd is away")

// F22: a worker that needs no intent is fenced as one that has recorded it. It is paused between two writes of a
// plan, another one takes over, and it writes nothing after it wakes.
func TestLoop_pausedHolderWritesNothing_F22(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store, server := newStore(), deliverytest.NewServer()
			oldView, newView := zoneview.NewSet(zoneview.Config{}), zoneview.NewSet(zoneview.Config{})
			zone := newWriter(t, "z", "example.org.", oldView, newView)
			zone.put(map[string]string{"a": "192.0.2.1", "b": "192.0.2.1", "c": "192.0.2.1"})
			hold := flag(false)
			wake := make(chan struct{})
			class := delivery.Class{Name: "main", Generation: "1", Target: "here"}
			class.Provider = &deliverytest.Memory{Server: server, Fault: func(_ context.Context, at deliverytest.Point) error {
				if hold.Load() && at.Applied {
					<-wake
				}
				return nil
			}}
			first := startWorker(t, store, oldView, nil)
			defer first.stop()
			first.SetClass(class)
			first.SetZone(zoneOf("z", "main"))
			synctest.Wait()
			begin := func() {
				hold.Store(true)
				zone.put(map[string]string{"a": "192.0.2.2", "b": "", "c": "192.0.2.2"})
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
			// The second one looks at the zone before the first one has begun, or finds it in the middle.
			if known {
				take()
				zone.sets = zone.sets[:1]
				begin()
				zone.sets = []*zoneview.Set{newView}
				snapshot, _ := oldView.Settled("z")
				newView.Put(snapshot, true)
			} else {
				begin()
				zone.sets = zone.sets[1:]
				take()
			}
			defer second.stop()
			old := zone.serial
			if intent := store.state("z", "main").Intent; intent != nil && intent.Holder == "worker" {
				t.Fatalf("the first one recorded an intent: %+v", intent)
			}
			// Back to what it was but for one: what stands half written differs in nothing from what was confirmed.
			zone.put(map[string]string{"a": "192.0.2.1", "b": "192.0.2.1", "c": "192.0.2.1", "d": "192.0.2.3"})
			after(time.Minute)
			zone.expect(server)
			before := len(server.Writes())
			close(wake)
			after(5 * time.Minute)
			for _, write := range server.Writes()[before:] {
				if write.Serial == old {
					t.Errorf("known %v: the paused worker wrote %v after it woke", known, write)
				}
			}
			zone.expect(server)
			if state := store.state("z", "main"); state.Serial != zone.serial || state.Intent != nil {
				t.Errorf("known %v: %+v", known, state)
			}
		})
	}
}

// F23, F24: what was begun without an intent is known while nothing can be stored, and found by the worker that comes
// after a crash, also where the zone has changed back since.
func TestLoop_unknownOutcomeWithoutAnIntent_F23(t *testing.T) {
	for _, blind := range []bool{false, true} {
		for _, crashes := range []bool{false, true} {
			inScene(t, func(s *scene) {
				s.memory.Blind = blind
				s.start()
				s.fault(func(_ context.Context, at deliverytest.Point) error {
					if at.Applied {
						return errors.New("the answer was lost")
					}
					return nil
				})
				s.store.fail(func(method string, after bool) error {
					if method == "Save" {
						return errAway
					}
					return nil
				})
				s.zone.put(map[string]string{"brief": "192.0.2.7"})
				synctest.Wait()
				if got := stands(s.server, s.zone.header.FQDN); got["brief.example.org."] == "" {
					t.Fatal("it was not applied")
				}
				if state := s.state(); state.Intent != nil {
					t.Fatalf("nothing could be stored: %+v", state)
				}
				if crashes {
					s.worker.stop()
				}
				s.fault(nil)
				s.store.fail(nil)
				s.zone.put(map[string]string{"brief": ""})
				if crashes {
					s.memory = &deliverytest.Memory{Server: s.server, Blind: blind}
					s.class.Provider = s.memory
					s.worker = startWorker(s.T, s.store, s.worker.views, nil)
					s.start()
				}
				after(5 * time.Minute)
				s.zone.expect(s.server)
				if state := s.state(); state.Serial != s.zone.serial || state.Intent != nil || state.Error != nil {
					t.Errorf("blind %v, crashes %v: %+v", blind, crashes, state)
				}
			})
		}
	}
}

// A class that takes the place of another delivers before that one is withdrawn: at every moment one of them has the
// zone.
func TestLoop_movedBetweenClasses(t *testing.T) {
	inScene(t, func(s *scene) {
		s.start()
		second := deliverytest.NewServer()
		broken := flag(true)
		s.worker.SetClass(delivery.Class{Name: "second", Generation: "1", Target: "there", Provider: &deliverytest.Memory{Server: second, Fault: func(context.Context, deliverytest.Point) error {
			if broken.Load() {
				return &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "not there yet"}
			}
			return nil
		}}})
		want := s.zone.want()
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"second"}})
		after(time.Hour)
		if got := stands(s.server, s.zone.header.FQDN); !maps.Equal(got, want) {
			t.Fatalf("the old class was withdrawn before the new one delivered: %v", got)
		}
		broken.Store(false)
		after(20 * time.Minute)
		s.zone.expect(second)
		if left := stands(s.server, s.zone.header.FQDN); len(left) != 0 {
			t.Errorf("left at the old class: %v", left)
		}
		if s.state().Version != "" {
			t.Errorf("the old state is there: %+v", s.state())
		}
	})
}

// A class that shall not have the zone any more loses it at once, independent of those that the zone names
// instead.
func TestLoop_expelled(t *testing.T) {
	inScene(t, func(s *scene) {
		s.start()
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"nowhere"}})
		after(time.Hour)
		s.zone.expect(s.server)
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"nowhere"}, Expelled: []string{"main"}})
		synctest.Wait()
		if left := stands(s.server, s.zone.header.FQDN); len(left) != 0 || s.state().Version != "" {
			t.Errorf("left: %v, %+v", left, s.state())
		}
	})
}

// A class that goes to the same place as the one before takes over its data: nothing is written, and above all nothing
// withdrawn.
func TestLoop_movedToTheSameTarget(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		inScene(t, func(s *scene) {
			s.memory.Blind = true
			s.start()
			before := len(s.server.Writes())
			if restarts {
				s.worker.stop()
				s.worker = startWorker(s.T, s.store, s.worker.views, nil)
				s.class.Provider = &deliverytest.Memory{Server: s.server, Blind: true}
				s.worker.SetClass(s.class)
			}
			s.worker.SetClass(delivery.Class{Name: "second", Generation: "1", Target: "here", Provider: &deliverytest.Memory{Server: s.server, Blind: true}})
			s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"second"}, Former: []string{"main"}})
			after(time.Minute)
			if wrote := s.server.Writes()[before:]; len(wrote) != 0 {
				t.Errorf("restarts %v: written: %v", restarts, wrote)
			}
			if state := s.store.state("z", "second"); state.Serial != s.zone.serial || state.Intent != nil || s.state().Version != "" {
				t.Errorf("restarts %v: %+v, and the old one %+v", restarts, state, s.state())
			}
			s.zone.put(map[string]string{"mail": "", "new": "192.0.2.5"})
			synctest.Wait()
			s.zone.expect(s.server)
		})
	}
}

// Two workers that each confirmed the same serial, one of them later: the earlier one may not go on without an intent.
func TestLoop_anotherConfirmedMeanwhile_F22(t *testing.T) {
	inScene(t, func(s *scene) {
		s.start()
		key := delivery.Key{UID: "z", Class: "main"}
		theirs := s.state()
		theirs.Holder = "another"
		if _, err := s.store.Save(s.Context(), key, theirs); err != nil {
			t.Fatal(err)
		}
		before := len(s.server.Writes())
		s.zone.put(map[string]string{"www": "192.0.2.9"})
		after(500 * time.Millisecond)
		if wrote := s.server.Writes()[before:]; len(wrote) != 0 {
			t.Errorf("written without an intent beside another worker: %v", wrote)
		}
		after(2 * time.Minute)
		s.zone.expect(s.server)
		if state := s.state(); state.Holder == "another" || state.Intent != nil || state.Serial != s.zone.serial {
			t.Errorf("not taken over: %+v", state)
		}
	})
}

// RRsets that were refused in a delivery that was taken over are owed to the worker that takes over next, before the
// repeat and after it.
func TestLoop_refusedAndTakenOverTwice(t *testing.T) {
	inScene(t, func(s *scene) {
		poison := name.MustParse("poison.example.org.")
		s.zone.put(map[string]string{"poison": "192.0.2.66"})
		refuse := func(set delivery.RRset) *delivery.Error {
			if set.Name == poison && len(set.Data) > 0 {
				return &delivery.Error{Reason: delivery.ReasonValidationFailed, Message: "not this one", Permanent: true}
			}
			return nil
		}
		key := delivery.Key{UID: "z", Class: "main"}
		begun := delivery.State{Zone: s.zone.header.FQDN, Target: "here", Intent: &delivery.Intent{Serial: s.zone.serial, From: s.zone.serial, Holder: "dead", Time: time.Now()}}
		if _, err := s.store.Save(s.Context(), key, begun); err != nil {
			t.Fatal(err)
		}
		take := func(refuse func(delivery.RRset) *delivery.Error) {
			s.worker.stop()
			s.class.Provider = &deliverytest.Memory{Server: s.server, Blind: true, Refuse: refuse}
			s.worker = startWorker(s.T, s.store, s.worker.views, nil)
			s.start()
		}
		take(refuse)
		if state := s.state(); state.Serial != s.zone.serial || state.Failed != 1 || state.Intent == nil {
			t.Fatalf("%+v", state)
		}
		take(nil) // before the repeat
		after(5 * time.Minute)
		s.zone.expect(s.server)
		if state := s.state(); state.Intent != nil || state.Failed != 0 || state.Ready.Status != delivery.True {
			t.Errorf("%+v", state)
		}
	})
}
