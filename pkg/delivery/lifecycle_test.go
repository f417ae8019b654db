// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/test/deliverytest"
)

func TestLoop_withdraw(t *testing.T) {
	for _, c := range []struct {
		what   string
		then   delivery.Zone
		allows bool
		leaves bool
	}{
		{"class changed", zoneOf("z"), true, false},
		{"deleted", delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true}, true, false},
		{"deleted while paused", delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true, Paused: true}, true, false},
		{"retained (S8.2)", delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true, Retain: true}, true, true},
		{"to be retained at a class that does not allow it (S8.2)", delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true, Retain: true}, false, false},
		{"former class after a restart", delivery.Zone{UID: "z", Former: []string{"main"}}, true, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			inScene(t, func(s *scene) {
				s.class.AllowRetain = c.allows
				s.start()
				s.server.Disturb(s.zone.header.FQDN, delivery.RRset{Name: name.MustParse("theirs.example.org."), Type: 1, TTL: 1, Data: []string{"198.51.100.1"}})
				s.worker.SetZone(c.then)
				after(time.Minute)
				got := stands(s.server, s.zone.header.FQDN)
				if want := map[bool]int{true: 3, false: 1}[c.leaves]; len(got) != want || got["theirs.example.org."] == "" {
					t.Errorf("left: %v", got)
				}
				if s.state().Version != "" {
					t.Errorf("the state is still there: %+v", s.state())
				}
				events := s.worker.events.of("z")
				if last := events[len(events)-1]; last.Outcome != delivery.OutcomeWithdrawn {
					t.Errorf("%+v", last)
				}
				count := len(events)
				s.worker.SetZone(c.then)
				after(time.Hour)
				if len(s.worker.events.of("z")) != count {
					t.Error("withdrawn more than once")
				}
				s.worker.SetZone(zoneOf("z", "main"))
				synctest.Wait()
				if s.state().Serial != s.zone.serial {
					t.Errorf("taken on again: %+v", s.state())
				}
			})
		})
	}
}

// S6.8: under the new name all of it, under the old one nothing.
func TestLoop_rename_S6_8(t *testing.T) {
	inScene(t, func(s *scene) {
		s.start()
		old := s.zone.header.FQDN
		s.zone.commit(map[string]string{"mail": "", "new": "192.0.2.5"}, true, func(h *content.Header) { h.FQDN = name.MustParse("example.net.") })
		after(time.Minute)
		s.zone.expect(s.server)
		if left := stands(s.server, old); len(left) > 0 {
			t.Errorf("left under the old name: %v", left)
		}
		if state := s.state(); state.Zone != s.zone.header.FQDN || state.Serial != s.zone.serial || state.Intent != nil {
			t.Errorf("%+v", state)
		}
	})
}

// S6.8: the old name goes when the new one is delivered, and not before; that it cannot go holds up nothing, and is
// said.
func TestLoop_renameLeavesNoGap_S6_8(t *testing.T) {
	for _, blind := range []bool{false, true} {
		for _, restarts := range []bool{false, true} {
			inScene(t, func(s *scene) {
				s.memory.Blind = blind
				s.start()
				old, had := s.zone.header.FQDN, s.zone.want()
				newName, refused := name.MustParse("example.net."), name.MustParse("example.org.")
				s.fault(func(_ context.Context, at deliverytest.Point) error {
					if at.Zone == newName {
						return &delivery.Error{Reason: delivery.ReasonZoneNotFound, Message: "make it first"}
					}
					return nil
				})
				s.zone.commit(map[string]string{"mail": "", "new": "192.0.2.5"}, true, func(h *content.Header) { h.FQDN = newName })
				after(time.Hour)
				if got := stands(s.server, old); !maps.Equal(got, had) {
					t.Fatalf("the old name was withdrawn before the new one is delivered: %v", got)
				}
				withdrawFails := func(_ context.Context, at deliverytest.Point) error {
					if at.Method == "Withdraw" && at.Zone == refused {
						return &delivery.Error{Reason: delivery.ReasonInvalidConfiguration, Code: "REFUSED", Message: "no updates", Permanent: true}
					}
					return nil
				}
				if restarts {
					s.worker.stop()
					s.worker = startWorker(s.T, s.store, s.worker.views, alone)
					s.memory = &deliverytest.Memory{Server: s.server, Blind: blind}
					s.class.Provider = s.memory
					s.fault(withdrawFails)
					s.start()
				} else {
					s.fault(withdrawFails)
				}
				after(20 * time.Minute)
				s.zone.expect(s.server)
				state := s.state()
				if state.Serial != s.zone.serial || len(state.Former) != 1 || state.Former[0].Zone != old || state.Ready.Status != delivery.False || state.Ready.Reason != delivery.ReasonInvalidConfiguration || !strings.Contains(state.Ready.Message, "example.org.") {
					t.Errorf("%+v", state)
				}
				s.zone.put(map[string]string{"more": "192.0.2.6"})
				synctest.Wait()
				s.zone.expect(s.server)
				if state := s.state(); state.Serial != s.zone.serial || state.Ready.Status != delivery.False {
					t.Errorf("after a change: %+v", state)
				}
				s.fault(nil)
				after(20 * time.Minute)
				s.zone.expect(s.server)
				if left := stands(s.server, old); len(left) > 0 {
					t.Errorf("left under the old name: %v", left)
				}
				if state := s.state(); len(state.Former) != 0 || state.Error != nil || state.Ready.Status != delivery.True || state.Intent != nil {
					t.Errorf("%+v", state)
				}
				first, recovered := 0, 0
				for _, event := range s.worker.events.of("z") {
					if event.First {
						first++
					}
					if event.Recovered {
						recovered++
					}
				}
				if first > 2 || recovered > 2 || recovered == 0 {
					t.Errorf("restarts %v: %d first failures, %d recoveries", restarts, first, recovered)
				}
			})
		}
	}
}

// S8.2, attack 71: what was delivered under a name is withdrawn from it, however many names the zone has had while
// the provider refused everything.
func TestLoop_forgetsNoFormerName_S8_2(t *testing.T) {
	inScene(t, func(s *scene) {
		s.memory.Blind = true
		s.start()
		first := s.zone.header.FQDN
		s.fault(func(context.Context, deliverytest.Point) error {
			return &delivery.Error{Reason: delivery.ReasonServerError, Message: "not now"}
		})
		for n := range 40 {
			s.zone.rename(name.MustParse(fmt.Sprintf("n%d.example.", n)))
			after(20 * time.Minute) // the longest time between two tries, and more
		}
		if got := stands(s.server, first); len(got) == 0 {
			t.Fatal("the provider refused nothing")
		}
		if state := s.state(); state.Ready.Status == delivery.True || len(state.Former) > 16 {
			t.Errorf("%+v", state)
		}
		s.fault(nil)
		after(3 * time.Hour)
		s.zone.expect(s.server)
		if left := stands(s.server, first); len(left) > 0 {
			t.Errorf("left under the first name: %v", left)
		}
		if state := s.state(); len(state.Former) != 0 || state.Ready.Status != delivery.True || state.Error != nil {
			t.Errorf("%+v", state)
		}
	})
}

// S6.8: there and back again, while the first name is still being left.
func TestLoop_renameBack_S6_8(t *testing.T) {
	inScene(t, func(s *scene) {
		s.memory.Blind = true
		s.start()
		old, other := s.zone.header.FQDN, name.MustParse("example.net.")
		s.fault(func(_ context.Context, at deliverytest.Point) error {
			if at.Method == "Withdraw" {
				return &delivery.Error{Reason: delivery.ReasonServerError, Message: "not now"}
			}
			return nil
		})
		to := func(n name.Name) func(*content.Header) { return func(h *content.Header) { h.FQDN = n } }
		s.zone.commit(nil, true, to(other))
		after(time.Minute)
		s.zone.put(map[string]string{"mail": ""})
		after(time.Minute)
		s.zone.commit(map[string]string{"x": "192.0.2.8"}, true, to(old))
		after(time.Minute)
		s.fault(nil)
		after(20 * time.Minute)
		s.zone.expect(s.server)
		if left := stands(s.server, other); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if state := s.state(); len(state.Former) != 0 || state.Intent != nil || state.Ready.Status != delivery.True {
			t.Errorf("%+v", state)
		}
	})
}

// H9: a name that another zone has by now is not withdrawn by the one that gave it up, however late that comes, and
// whatever it has put under its new name: neither when it is renamed, nor when it leaves the class or goes.
func TestLoop_formerNameIsAnotherZonesByNow_H9(t *testing.T) {
	for _, leaves := range []string{"renamed", "class", "gone"} {
		inScene(t, func(s *scene) {
			s.start()
			s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Paused: true})
			s.zone.commit(map[string]string{"login": "192.0.2.77"}, true, func(h *content.Header) { h.FQDN = name.MustParse("example.net.") })
			other := newWriter(t, "other", "example.org.", s.worker.views)
			other.put(map[string]string{"www": "192.0.2.1", "login": "192.0.2.77"})
			s.worker.SetZone(zoneOf("other", "main"))
			after(time.Minute)
			switch leaves {
			case "renamed":
				s.start()
			case "class":
				s.worker.SetZone(delivery.Zone{UID: "z", Former: []string{"main"}})
			case "gone":
				s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true})
			}
			after(time.Minute)
			got := stands(s.server, other.header.FQDN)
			for owner, data := range other.want() {
				if got[owner] != data {
					t.Errorf("%s: %s is %q, want %q", leaves, owner, got[owner], data)
				}
			}
			if state := s.state(); len(state.Former) > 0 || leaves != "renamed" && state.Version != "" {
				t.Errorf("%s: %+v", leaves, state)
			}
		})
	}
}

// A zone that goes while a former name of it is still there goes from both.
func TestLoop_withdrawFormerNames(t *testing.T) {
	inScene(t, func(s *scene) {
		s.start()
		old := s.zone.header.FQDN
		s.fault(func(_ context.Context, at deliverytest.Point) error {
			if at.Method == "Withdraw" {
				return &delivery.Error{Reason: delivery.ReasonServerError, Message: "not now"}
			}
			return nil
		})
		s.zone.commit(nil, true, func(h *content.Header) { h.FQDN = name.MustParse("example.net.") })
		after(time.Minute)
		s.fault(nil)
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true})
		after(20 * time.Minute)
		if left, too := stands(s.server, old), stands(s.server, s.zone.header.FQDN); len(left)+len(too) > 0 || s.state().Version != "" {
			t.Errorf("left: %v, %v, %+v", left, too, s.state())
		}
	})
}

// A zone whose namespace terminates stays as it was at its settled serial, after a restart too.
func TestLoop_frozen(t *testing.T) {
	inScene(t, func(s *scene) {
		frozen, want := s.zone.serial, s.zone.want()
		s.zone.put(map[string]string{"www": ""})
		s.zone.put(map[string]string{"mail": ""})
		s.worker.SetClass(s.class)
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Frozen: frozen})
		synctest.Wait()
		if got := stands(s.server, s.zone.header.FQDN); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Frozen: frozen, Withdraw: true})
		synctest.Wait()
		if got := stands(s.server, s.zone.header.FQDN); len(got) != 0 {
			t.Errorf("not withdrawn: %v", got)
		}
	})
}

func TestLoop_paused(t *testing.T) {
	inScene(t, func(s *scene) {
		s.start()
		was := s.zone.want()
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Paused: true})
		s.zone.put(map[string]string{"www": "192.0.2.9"})
		after(3 * time.Hour)
		if got := stands(s.server, s.zone.header.FQDN); !maps.Equal(got, was) || s.server.Calls("Verify") > 0 {
			t.Errorf("a paused zone: %v", got)
		}
		s.start()
		s.zone.expect(s.server)

		s.class.Paused = true
		s.worker.SetClass(s.class)
		was = s.zone.want()
		s.zone.put(map[string]string{"www": "192.0.2.10"})
		after(3 * time.Hour)
		if got := stands(s.server, s.zone.header.FQDN); !maps.Equal(got, was) {
			t.Errorf("a paused class: %v", got)
		}
		s.class.Paused = false
		s.worker.SetClass(s.class)
		synctest.Wait()
		s.zone.expect(s.server)
	})
}

// A class that never worked keeps no zone from going.
func TestLoop_withdrawWhatWasNeverBegun(t *testing.T) {
	inScene(t, func(s *scene) {
		s.class.Provider = nil
		s.class.Err = &delivery.Error{Reason: delivery.ReasonSecretNotFound, Message: "Secret dns/key is not there", Permanent: true}
		s.start()
		if s.state().Version == "" {
			t.Fatal("the failure is not stored")
		}
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true})
		synctest.Wait()
		if s.state().Version != "" {
			t.Errorf("%+v", s.state())
		}
	})
}

// A zone that comes back while it is being withdrawn is whole again, by the same worker or another.
func TestLoop_comesBackHalfWithdrawn(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		for _, blind := range []bool{false, true} {
			inScene(t, func(s *scene) {
				s.memory.Blind = blind
				s.start()
				s.fault(func(_ context.Context, at deliverytest.Point) error {
					if at.Method == "Withdraw" && at.Set.Name == name.MustParse("www.example.org.") {
						return &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "gone"}
					}
					return nil
				})
				s.worker.SetZone(zoneOf("z"))
				after(time.Minute)
				if got := stands(s.server, s.zone.header.FQDN); len(got) != 1 {
					t.Fatalf("not half withdrawn: %v", got)
				}
				if restarts {
					s.worker.stop()
					s.worker = startWorker(s.T, s.store, s.worker.views, alone)
					s.memory = &deliverytest.Memory{Server: s.server, Blind: blind}
					s.class.Provider = s.memory
				}
				s.fault(nil)
				s.start()
				after(time.Minute)
				s.zone.expect(s.server)
			})
		}
	}
}

// S8.2: a zone that the provider says for a day that it does not have is taken for withdrawn, and that is told. One
// that it has again within the day is withdrawn, and so is one of which it cannot say for a while whether it has it.
func TestLoop_withdrawnWhereTheZoneIsGone_S8_2(t *testing.T) {
	gone := &delivery.Error{Reason: delivery.ReasonZoneNotFound, Message: "no such zone"}
	away := &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "no connection"}
	for _, restarts := range []bool{false, true} {
		for _, test := range []struct {
			what  string
			then  error
			after time.Duration // until it is withdrawn
			left  bool
		}{
			{"gone", gone, 24 * time.Hour, true},
			{"back", nil, 23 * time.Hour, false},
			{"out of reach for a while", away, 23*time.Hour + 24*time.Hour, true},
		} {
			inScene(t, func(s *scene) {
				answers := gone
				var mu sync.Mutex
				s.start()
				s.fault(func(_ context.Context, at deliverytest.Point) error {
					mu.Lock()
					defer mu.Unlock()
					if at.Method != "Withdraw" || answers == nil {
						return nil
					}
					return answers
				})
				zone := zoneOf("z", "main")
				zone.Withdraw = true
				s.worker.SetZone(zone)
				after(12 * time.Hour)
				if restarts {
					s.worker.stop()
					s.worker = startWorker(s.T, s.store, s.worker.views, alone)
					s.store.told(s.worker)
					s.worker.SetClass(s.class)
					s.worker.SetZone(zone)
				}
				after(11 * time.Hour)
				if state := s.state(); state.Version == "" || state.Error == nil || state.Error.Reason != delivery.ReasonZoneNotFound {
					t.Fatalf("%s, restarts %v: after 23 hours: %+v", test.what, restarts, state)
				}
				mu.Lock()
				answers, _ = test.then.(*delivery.Error)
				mu.Unlock()
				if test.then == error(away) {
					after(time.Hour)
					mu.Lock()
					answers = gone
					mu.Unlock()
				}
				after(test.after - 23*time.Hour + 20*time.Minute)
				events := s.worker.events.of("z")
				last := events[len(events)-1]
				if state := s.state(); state.Version != "" || last.Outcome != delivery.OutcomeWithdrawn || len(last.Absent) == 0 == test.left {
					t.Errorf("%s, restarts %v: %s, absent %v, state %+v", test.what, restarts, last.Outcome, last.Absent, state)
				}
				if left := stands(s.server, s.zone.header.FQDN); len(left) > 0 != test.left {
					t.Errorf("%s, restarts %v: left %v", test.what, restarts, left)
				}
			})
		}
	}
}

// S8.2: each name that a zone had has a day of its own. One that the provider lost for some hours, when another one
// had been missing for a day, is withdrawn.
func TestLoop_withdrawnWhereOneNameIsGone_S8_2(t *testing.T) {
	for what, before := range map[string]*delivery.Error{
		"there at first":        nil,
		"out of reach at first": {Reason: delivery.ReasonServerUnreachable, Message: "no connection"},
	} {
		inScene(t, func(s *scene) {
			s.start()
			old, gone := s.zone.header.FQDN, &delivery.Error{Reason: delivery.ReasonZoneNotFound, Message: "no such zone"}
			ofOld := &delivery.Error{Reason: delivery.ReasonServerError, Message: "not now"}
			var mu sync.Mutex
			say := func(e *delivery.Error) {
				mu.Lock()
				defer mu.Unlock()
				ofOld = e
			}
			s.fault(func(_ context.Context, at deliverytest.Point) error {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case at.Method != "Withdraw" || at.Zone == old && ofOld == nil:
					return nil
				case at.Zone == old:
					return ofOld
				}
				return gone
			})
			s.zone.commit(nil, true, func(h *content.Header) { h.FQDN = name.MustParse("example.net.") })
			after(time.Minute)
			say(before)
			s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Withdraw: true})
			after(23 * time.Hour)
			say(gone)
			after(10 * time.Hour)
			say(nil)
			after(25 * time.Hour)
			events := s.worker.events.of("z")
			absent := events[len(events)-1].Absent
			if left := stands(s.server, old); len(left) > 0 || s.state().Version != "" || !slices.Contains(absent, name.MustParse("example.net.")) {
				t.Errorf("%s: left %v, absent %v, state %+v", what, left, absent, s.state())
			}
		})
	}
}
