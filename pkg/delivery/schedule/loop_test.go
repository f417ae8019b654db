// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/schedule"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// S7.2: unsettled content is not delivered.
func TestLoop_onlySettledSerials_S7_2(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		settled := s.zone.ListWanted()
		s.zone.CommitStep(map[string]string{"www": "192.0.2.7"}, false)
		passTime(time.Minute)
		if got := s.server.Addresses(s.zone.Header.FQDN); !maps.Equal(got, settled) {
			t.Errorf("unsettled content went out: %v", got)
		}
		s.zone.PutAddresses(map[string]string{"more": "192.0.2.8"})
		synctest.Wait()
		s.zone.Expect(s.server)
	})
}

func TestLoop_pendingChangesBecomeOne(t *testing.T) {
	inScene(t, func(s *scene) {
		release := make(chan struct{})
		s.failProvider(func(_ context.Context, at deliverytest.Point) error {
			<-release
			return nil
		})
		s.beginScene()
		for i := range 50 {
			s.zone.PutAddresses(map[string]string{"www": fmt.Sprintf("192.0.2.%d", 100+i)})
		}
		close(release)
		synctest.Wait()
		s.zone.Expect(s.server)
		if calls := s.server.Calls("Deliver"); calls != 2 {
			t.Errorf("%d deliveries of 51 serials; the first and one for all that came meanwhile", calls)
		}
	})
}

// F22: a call in flight at a takeover is overwritten, for any length of a call.
func TestLoop_callOnTheWireIsOverwritten_F22(t *testing.T) {
	for _, times := range []struct{ call, repeated time.Duration }{{0, 30 * time.Second}, {30 * time.Second, 46 * time.Second}} {
		synctest.Test(t, func(t *testing.T) { callOnTheWire(t, times.call, times.repeated) })
	}
}

func callOnTheWire(t *testing.T, call, repeated time.Duration) {
	patient := func(c *schedule.Config) { c.CallTimeout = call }
	store, server := newStore(), deliverytest.NewServer()
	oldView, newView := zoneview.NewSet(zoneview.Config{}), zoneview.NewSet(zoneview.Config{})
	zone := deliverytest.NewZone(t, "z", "example.org.", oldView, newView)
	zone.PutAddresses(map[string]string{"a": "192.0.2.1"})
	class := delivery.Class{Name: "main", Generation: "1", Target: "here"}
	first := startWorker(t, store, oldView, patient)
	defer first.stop()
	var hold atomic.Bool
	arrive := make(chan struct{})
	class.Provider = &deliverytest.Memory{Server: server, Fault: func(_ context.Context, at deliverytest.Point) error {
		if hold.Load() && !at.Applied {
			<-arrive
		}
		return nil
	}}
	first.SetClass(class)
	first.SetZone(zoneOf("z", "main"))
	synctest.Wait()
	hold.Store(true)
	zone.PutAddresses(map[string]string{"a": "192.0.2.2"})
	synctest.Wait()

	// The zone changes back: a write although nothing differs from the confirmed content.
	zone.Sets = zone.Sets[1:]
	zone.PutAddresses(map[string]string{"a": "192.0.2.1"})
	second := startWorker(t, store, newView, patient)
	defer second.stop()
	class.Provider = &deliverytest.Memory{Server: server}
	second.SetClass(class)
	second.SetZone(zoneOf("z", "main"))
	passTime(time.Second)
	if state := store.readState("z", "main"); state.Serial != zone.Serial || state.Intent == nil {
		t.Fatalf("taken over and to be repeated: %+v", state)
	}
	close(arrive)
	synctest.Wait()
	if got := server.Addresses(zone.Header.FQDN); got["a.example.org."] != "192.0.2.2" {
		t.Fatalf("the late call did not arrive: %v", got)
	}
	passTime(repeated)
	zone.Expect(server)
	if state := store.readState("z", "main"); state.Serial != zone.Serial || state.Intent != nil {
		t.Errorf("after the repeat: %+v", state)
	}
}

// A call to the provider may take longer than the worker's lease, but no longer than CallTimeout. At shutdown a call in
// progress has half a lease to end.
func TestLoop_callTimeout(t *testing.T) {
	inScene(t, func(s *scene) {
		s.replaceWorker(func(c *schedule.Config) { c.CallTimeout = 30 * time.Second })
		takes := 29 * time.Second
		s.failProvider(func(ctx context.Context, at deliverytest.Point) error {
			if at.Applied {
				return nil
			}
			select {
			case <-time.After(takes):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		s.beginScene()
		passTime(time.Minute)
		s.expectDelivered("calls of ", takes)
		takes = 31 * time.Second
		s.zone.PutAddresses(map[string]string{"www": "192.0.2.9"})
		passTime(31 * time.Second)
		if state := s.readState(); state.Error == nil || state.Error.Reason != delivery.ReasonServerUnreachable {
			t.Errorf("calls of %s: %+v", takes, state)
		}
		passTime(10 * time.Second)
		began := time.Now()
		s.worker.stop()
		if elapsed := time.Since(began); elapsed > 7500*time.Millisecond {
			t.Errorf("told to end, it ended after %s", elapsed)
		}
		s.failProvider(nil)
		s.startAgain(0)
		s.zone.Expect(s.server)
	})
}

// A worker records an intent before each write. After a crash in between, the outcome is unknown, and the next worker
// resolves the intent: at the start or, in a running worker, at the next write.
func TestLoop_abandonedIntent(t *testing.T) {
	for _, restarts := range []bool{true, false} {
		for _, failsFirst := range []bool{true, false} {
			inScene(t, func(s *scene) {
				s.beginScene()
				state := s.readState()
				state.Intent = &delivery.Intent{Serial: state.Serial, From: state.Serial, Holder: "dead", Time: time.Now(), RRsets: []delivery.RRsetKey{{Name: name.MustParse("gone.example.org."), Type: 1}}}
				must.Get(s.store.Save(s.Context(), delivery.Key{UID: "z", Class: "main"}, state))(t)
				if failsFirst {
					s.store.setFault(failSaves)
				}
				if restarts {
					s.startAgain(0)
				} else {
					s.zone.PutAddresses(map[string]string{"www": "192.0.2.70"})
				}
				passTime(2 * time.Minute)
				s.store.setFault(nil)
				passTime(10 * time.Minute)
				if state := s.readState(); state.Intent != nil || state.Ready.Status != delivery.True {
					t.Errorf("restarts %v, fails first %v: %+v %+v", restarts, failsFirst, state, state.Intent)
				}
				writes, calls := s.store.countWrites(), s.server.Calls("Deliver")
				passTime(10 * time.Minute)
				if s.store.countWrites() != writes || s.server.Calls("Deliver") != calls {
					t.Error("it does not come to rest")
				}
			})
		}
	}
}

// A first delivery is interrupted, and the zone then loses RRsets that were perhaps written already. They are removed
// at the provider.
func TestLoop_removedDuringAFirstDelivery(t *testing.T) {
	inScene(t, func(s *scene) {
		s.memory.Blind = true
		s.failProvider(func(_ context.Context, at deliverytest.Point) error {
			if at.Applied && at.Set.Name.String() == "www.example.org." {
				return errors.New("broken off")
			}
			return nil
		})
		s.beginScene()
		s.failProvider(nil)
		s.zone.PutAddresses(map[string]string{"mail": "", "www": ""})
		passTime(time.Minute)
		s.zone.Expect(s.server)
	})
}

// A write succeeds at the provider, but its result cannot be stored. The write is repeated later, with the same effect,
// and the failure of the store is not reported as a failure of the class (F24).
func TestLoop_resultNotStored_F24(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		saves := 0
		s.store.setFault(func(method string, after bool) error {
			if method == "Save" && !after {
				if saves++; saves == 1 {
					return errors.New("etcd is away")
				}
			}
			return nil
		})
		s.zone.PutAddresses(map[string]string{"www": "192.0.2.9"})
		synctest.Wait()
		if state := s.readState(); state.Serial == s.zone.Serial {
			t.Fatalf("the result was to be lost: %+v", state)
		}
		passTime(time.Minute)
		s.expectDelivered()
		for _, event := range s.worker.events.eventsOf("z") {
			if event.Outcome == delivery.OutcomeFailed {
				t.Errorf("a store away is no failure of the class: %+v", event)
			}
		}
	})
}

// Attack 90: neither thousands of changes in many zones nor a comparison of all zones every ten seconds takes the
// workers from another tenant. All share the class's rate.
func TestLoop_tenantsAlternate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		views, server := zoneview.NewSet(zoneview.Config{}), deliverytest.NewServer()
		w := startWorker(t, newStore(), views, nil)
		defer w.stop()
		w.SetClass(delivery.Class{Name: "main", Generation: "1", Provider: &deliverytest.Memory{Server: server}, RequestsPerSecond: 50})
		own := func(uid, tenant, request string) {
			zone := zoneOf(uid, "main")
			zone.Tenant, zone.Request = tenant, request
			w.SetZone(zone)
		}
		calm := deliverytest.NewZone(t, "calm", "calm.example.", views)
		own("calm", "calm", "")
		var loud []*deliverytest.Zone
		for i := range 80 {
			loud = append(loud, deliverytest.NewZone(t, fmt.Sprint("loud", i), fmt.Sprintf("loud%d.example.", i), views))
			own(loud[i].UID, "loud", "")
		}
		passTime(time.Minute)
		change := func(what, data string) {
			t.Helper()
			calm.PutAddresses(map[string]string{"www": data})
			began := time.Now()
			for server.Addresses(calm.Header.FQDN)["www.calm.example."] != data && time.Since(began) < time.Minute {
				passTime(100 * time.Millisecond)
			}
			elapsed := time.Since(began)
			t.Logf("%s: another's change after %s", what, elapsed)
			if elapsed > 5*time.Second {
				t.Errorf("%s: another's change takes %s", what, elapsed)
			}
		}
		change("alone", "192.0.2.1")
		for round := range 6 {
			for _, zone := range loud {
				own(zone.UID, "loud", fmt.Sprint(round))
			}
			passTime(time.Second)
			change("beside comparisons", fmt.Sprintf("192.0.2.%d", 10+round))
			passTime(9 * time.Second)
		}
		for _, zone := range loud {
			many := map[string]string{}
			for i := range 1000 {
				many[fmt.Sprint("r", i)] = "192.0.2.66"
			}
			zone.PutAddresses(many)
		}
		passTime(time.Second)
		change("beside 80,000 changes", "192.0.2.2")
		passTime(time.Minute)
		change("a minute later", "192.0.2.3")
	})
}

// Content of a tenant may crash a provider's code. The panic becomes an error of that zone alone, and other zones are
// still delivered (attack 60).
func TestLoop_panicIsAnError(t *testing.T) {
	inScene(t, func(s *scene) {
		s.failProvider(func(_ context.Context, at deliverytest.Point) error {
			if at.Zone == s.zone.Header.FQDN {
				panic("odd record: hunter2")
			}
			return nil
		})
		s.beginScene()
		other := deliverytest.NewZone(t, "other", "example.net.", s.worker.views)
		other.PutAddresses(map[string]string{"www": "192.0.2.1"})
		s.worker.SetZone(zoneOf("other", "main"))
		synctest.Wait()
		other.Expect(s.server)
		if state := s.readState(); state.Ready.Status != delivery.False || state.Ready.Reason != delivery.ReasonInternalError ||
			state.Error == nil || state.Error.Message != state.Ready.Message {
			t.Errorf("%+v", state)
		}
		s.failProvider(nil)
		passTime(time.Minute)
		s.zone.Expect(s.server)
		if events := s.worker.events.eventsOf("z"); len(events) < 2 || !events[0].First || !events[len(events)-1].Recovered {
			t.Errorf("events: %+v", events)
		}
	})
}

// A restarted worker whose view has no changes reads the history.
func TestLoop_restart(t *testing.T) {
	for _, reaches := range []bool{true, false} {
		inScene(t, func(s *scene) {
			s.memory.Blind = true
			s.beginScene()
			s.worker.stop()
			s.zone.PutAddresses(map[string]string{"www": "", "new": "192.0.2.3"})
			snapshot, _ := s.worker.views.Settled("z")
			views := zoneview.NewSet(zoneview.Config{})
			views.Put(snapshot, true)
			master := s.worker.views
			before := len(s.server.Writes())
			s.memory = &deliverytest.Memory{Server: s.server, Blind: true}
			s.class.Provider = s.memory
			s.worker = startWorker(s.T, s.store, views, func(c *schedule.Config) {
				if reaches {
					c.History = readHistory(master)
				}
			})
			s.beginScene()
			if reaches {
				s.zone.Expect(s.server)
				if wrote := len(s.server.Writes()) - before; wrote != 2 {
					t.Errorf("%d writes for 2 changed RRsets", wrote)
				}
				// Writes of the former worker cannot differ, so each RRset is written once.
				passTime(time.Minute)
				if wrote := len(s.server.Writes()) - before; wrote != 2 {
					t.Errorf("%d writes for 2 changed RRsets, of which none could be written over", wrote)
				}
			} else if got := s.server.Addresses(s.zone.Header.FQDN); got["new.example.org."] == "" || got["www.example.org."] == "" {
				t.Errorf("without a history all is written and nothing removed: %v", got)
			} else if condition := s.readState().Ready; condition.Status != delivery.True ||
				!strings.Contains(condition.Message, "compare the provider's data with zones/entries") {
				t.Errorf("what remains there is not said: %+v", condition)
			} else if events := s.worker.events.eventsOf("z"); !slices.ContainsFunc(events,
				func(e delivery.Event) bool { return e.LeftoverZone == s.zone.Header.FQDN }) {
				t.Errorf("what remains there is not told: %+v", events)
			}
			for _, event := range s.worker.events.eventsOf("z") {
				if reaches && !event.LeftoverZone.IsZero() {
					t.Errorf("with a history something is said to remain: %+v", event)
				}
			}
			passTime(time.Minute)
			before = len(s.server.Writes())
			passTime(time.Minute)
			if len(s.server.Writes()) != before {
				t.Error("it goes on writing")
			}
		})
	}
}

// A first delivery was interrupted, and a call of the dead worker may still arrive. Everything is written once more.
// After that only RRsets that changed since are written again, because only for these the late call would bring old
// content (F23).
func TestLoop_firstDeliveryInterrupted(t *testing.T) {
	for _, changes := range []bool{false, true} {
		inScene(t, func(s *scene) {
			const count = 400
			many := map[string]string{}
			for n := range count {
				many[fmt.Sprintf("n%03d", n)] = "192.0.2.7"
			}
			s.zone.PutAddresses(many)
			s.memory.Blind, s.class.RequestsPerSecond = true, 10_000
			s.worker.stop()
			key, began := delivery.Key{UID: "z", Class: "main"}, s.zone.Serial
			begun := delivery.State{Zone: s.zone.Header.FQDN, Target: "here", Intent: &delivery.Intent{Serial: began, From: began,
				Holder: "dead", Time: time.Now(), Unlisted: true}}
			must.Get(s.store.Save(s.Context(), key, begun))(t)
			s.worker = startWorker(s.T, s.store, s.worker.views, nil)
			s.beginScene()
			s.zone.Expect(s.server)
			want := count + 2
			if changes {
				s.zone.PutAddresses(map[string]string{"www": "192.0.2.9", "n000": "", "new": "192.0.2.10"})
				synctest.Wait()
				s.zone.Expect(s.server)
				// The former worker's call arrives.
				s.server.Adopt(s.zone.Header.FQDN, delivery.RRset{Name: www.Name, Type: www.Type, TTL: 360, Data: []string{"192.0.2.1"}})
				s.server.Adopt(s.zone.Header.FQDN, delivery.RRset{Name: name.MustParse("n000.example.org."), Type: www.Type, TTL: 360,
					Data: []string{"192.0.2.7"}})
				want += 3 + 3
			}
			passTime(5 * time.Minute)
			s.expectDelivered("changes ", changes)
			if wrote := len(s.server.Writes()); wrote > want {
				t.Errorf("changes %v: %d writes, want %d at most", changes, wrote, want)
			}
		})
	}
}

// If a class gets another target, the zone is delivered whole to the new target, and the old provider is closed. If
// only the credentials change, nothing is delivered again.
func TestLoop_otherTarget(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		elsewhere := deliverytest.NewServer()
		class := s.class
		class.Generation, class.Target, class.Provider = "2", "there", &deliverytest.Memory{Server: elsewhere}
		s.worker.SetClass(class)
		synctest.Wait()
		s.zone.Expect(elsewhere)
		if !s.memory.Closed() {
			t.Error("the provider that was replaced is not closed")
		}
		writes := s.store.countWrites()
		class.Generation = "3" // other credentials, the same target
		class.Provider = &deliverytest.Memory{Server: elsewhere}
		s.worker.SetClass(class)
		passTime(time.Minute)
		if elsewhere.Calls("Deliver") != 1 || s.store.countWrites() != writes {
			t.Error("the same target was delivered to again")
		}
	})
}

// At shutdown the worker lets the call in progress end, begins no other, and gives up its lease. So the next worker can
// continue without waiting.
func TestLoop_stop(t *testing.T) {
	inScene(t, func(s *scene) {
		s.failProvider(func(ctx context.Context, at deliverytest.Point) error {
			if at.Applied {
				time.Sleep(2 * time.Second)
			}
			return nil
		})
		s.beginScene()
		began := time.Now()
		s.worker.stop()
		if elapsed := time.Since(began); elapsed != 2*time.Second || len(s.server.Writes()) != 1 || !s.memory.Closed() {
			t.Errorf("stopped after %s with %d writes, provider closed: %v", elapsed, len(s.server.Writes()), s.memory.Closed())
		}
		if state := s.readState(); state.Intent == nil || state.Intent.Holder != "" || state.Serial != 0 {
			t.Errorf("%+v", state)
		}
		s.failProvider(nil)
		s.startAgain(0)
		s.zone.Expect(s.server)
	})
}

func TestLoop_status(t *testing.T) {
	inScene(t, func(s *scene) {
		s.failProvider(deliverytest.Until(time.Minute, &delivery.Error{Reason: delivery.ReasonServerError, Message: "no"}))
		s.beginScene()
		want := []schedule.ClassStatus{{Name: "main", Zones: 1, Failing: 1}}
		if got := s.worker.Status(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		passTime(2 * time.Minute)
		want[0].Failing = 0
		if got := s.worker.Status(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		s.failProvider(deliverytest.Until(10*time.Minute, &delivery.Error{Reason: delivery.ReasonServerError, Message: "no"}))
		for round := range 3 {
			s.zone.PutAddresses(map[string]string{"www": fmt.Sprint("192.0.2.", 20+round)})
			passTime(time.Minute)
		}
		want[0].Failing = 1
		if got := s.worker.Status(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		s.failProvider(nil)
		passTime(20 * time.Minute)
		if got := s.worker.Status(); got[0].Failing != 0 {
			t.Errorf("%+v", got)
		}
		if err := s.worker.Health(s.Context(), "main"); err != nil {
			t.Error(err)
		}
		if err := s.worker.Health(s.Context(), "none"); err == nil {
			t.Error("the health of a class that there is not")
		}
	})
}

// The status of the worker is read while it loads a delivery. The race detector judges this test.
func TestLoop_statusDuringAnAttempt(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		s.replaceWorker(nil)
		s.store.setFault(func(string, bool) error {
			go s.worker.Status()
			time.Sleep(time.Millisecond)
			return nil
		})
		s.beginScene()
		passTime(time.Second)
		s.zone.Expect(s.server)
	})
}
