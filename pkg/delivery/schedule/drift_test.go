// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/schedule"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/deliverytest"
)

// refuseRRset makes the provider refuse an RRset while the returned flag is set.
func (s *scene) refuseRRset(key delivery.RRsetKey, err delivery.Error) interface{ Store(bool) } {
	refuses := makeFlag(true)
	s.memory.Change(func(m *deliverytest.Memory) {
		m.Refuse = func(set delivery.RRset) *delivery.Error {
			if !refuses.Load() || set.Key() != key {
				return nil
			}
			return &err
		}
	})
	return refuses
}

func (s *scene) removeRRset(key delivery.RRsetKey) {
	s.server.Disturb(s.zone.Header.FQDN, delivery.RRset{Name: key.Name, Type: key.Type})
}

func (s *scene) hasRRset(key delivery.RRsetKey) bool {
	return slices.ContainsFunc(s.server.Inspect(s.zone.Header.FQDN), func(set delivery.RRset) bool { return set.Key() == key })
}

func (s *scene) startAgain(away time.Duration) {
	s.worker.stop()
	time.Sleep(away)
	s.memory = &deliverytest.Memory{Server: s.server, Refuse: s.memory.Refuse, Fault: s.memory.Fault, Blind: s.memory.Blind}
	s.class.Provider = s.memory
	s.worker = startWorker(s.T, s.store, s.worker.views, nil)
	s.beginScene()
}

var refusals = map[string]delivery.Error{
	"for good": {Reason: delivery.ReasonValidationFailed, Message: "no mail", Permanent: true},
	"for now":  {Reason: delivery.ReasonConflict, Message: "somebody else's"},
}

// If a server has lost a zone, every zone of its class is compared at once, but not more often than once a minute. If a
// second server loses one, its comparison follows seconds later. No loss is forgotten meanwhile.
func TestLoop_serverThatLostAZone(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		passTime(2 * time.Minute)
		lose := func(server string) {
			s.removeRRset(www)
			s.memory.Change(func(m *deliverytest.Memory) { m.Lost = []string{server} })
		}
		ask := func(when string, compared bool) {
			t.Helper()
			s.worker.AskLast(s.Context(), "main")
			synctest.Wait()
			if s.hasRRset(www) != compared {
				t.Errorf("%s: compared at once: %v", when, !compared)
			}
		}
		ask("nothing is lost", true)
		lose("ns1")
		ask("lost", true)
		lose("ns2")
		ask("another server, in the same second", false)
		passTime(schedule.LostPause)
		ask("another server, seconds later", true)
		lose("ns1")
		passTime(schedule.LostPause)
		ask("again within the minute", false)
		passTime(time.Minute)
		ask("a minute later", true)
	})
}

// If a server has lost zones, the zones confirmed last are compared first, because an old disk from which the server
// was restored cannot have them.
func TestLoop_comparesTheLatestZonesFirst(t *testing.T) {
	inScene(t, func(s *scene) {
		s.replaceWorker(func(c *schedule.Config) { c.Workers = 1 })
		s.beginScene()
		passTime(time.Minute)
		var want, got []string
		for _, uid := range []string{"a", "c", "b"} {
			deliverytest.NewZone(s.T, uid, uid+".example.", s.worker.views)
			s.worker.SetZone(zoneOf(uid, "main"))
			passTime(time.Second)
			want = append([]string{uid + ".example."}, want...)
		}
		s.failProvider(func(_ context.Context, at deliverytest.Point) error {
			got = append(got, at.Zone.String())
			return nil
		})
		s.memory.Change(func(m *deliverytest.Memory) { m.Lost = []string{"ns1"} })
		s.worker.AskLast(s.Context(), "main")
		passTime(time.Second)
		if want = append(want, "example.org."); !slices.Equal(got, want) {
			t.Errorf("compared %v, want %v", got, want)
		}
	})
}

// A difference between the zone and the provider's data that cannot be repaired stays in the state until it is
// repaired, in the same process and after a restart.
func TestLoop_driftThatIsNotRepaired(t *testing.T) {
	for _, beside := range []bool{false, true} {
		inScene(t, func(s *scene) {
			if beside {
				s.refuseRRset(mail, refusals["for good"])
			}
			s.beginScene()
			inner := s.memory.Refuse
			stuck := makeFlag(true)
			s.memory.Change(func(m *deliverytest.Memory) {
				m.Refuse = func(set delivery.RRset) *delivery.Error {
					if stuck.Load() && set.Key() == www {
						return &delivery.Error{Reason: delivery.ReasonConflict, Message: "somebody else's"}
					}
					if inner != nil {
						return inner(set)
					}
					return nil
				}
			})
			s.removeRRset(www)
			passTime(61 * time.Minute)
			if state := s.readState(); !slices.Equal(state.Drift, []delivery.RRsetKey{www}) || state.Ready.Status != delivery.False {
				t.Errorf("beside %t: %+v", beside, state)
			}
			s.startAgain(time.Hour)
			passTime(time.Minute)
			if state := s.readState(); !slices.Equal(state.Drift, []delivery.RRsetKey{www}) {
				t.Errorf("beside %t, after a restart: %+v", beside, state)
			}
			stuck.Store(false)
			passTime(61 * time.Minute)
			if state := s.readState(); len(state.Drift) > 0 || !s.hasRRset(www) {
				t.Errorf("beside %t, mended: %+v", beside, state)
			}
		})
	}
}

// A zone that disappears at the provider and comes back empty is written whole, whether a change or a comparison
// finds out, for the zone or for each RRset.
func TestLoop_zoneLostAndMadeAgain(t *testing.T) {
	for n := range 16 {
		changes, beside, restarts, alone := n&1 > 0, n&2 > 0, n&4 > 0, n&8 > 0
		t.Run(fmt.Sprintf("changes %t, beside a refused record %t, restarts %t, RRset by RRset %t", changes, beside, restarts, alone), func(t *testing.T) {
			inScene(t, func(s *scene) {
				if beside {
					s.refuseRRset(mail, refusals["for good"])
				}
				s.beginScene()
				s.zone.PutAddresses(map[string]string{"old": "192.0.2.7", "also": "192.0.2.8"})
				passTime(time.Minute)
				for _, set := range s.server.Inspect(s.zone.Header.FQDN) {
					s.removeRRset(set.Key())
				}
				gone := &delivery.Error{Reason: delivery.ReasonZoneNotFound, Message: "no such zone"}
				refuse := s.memory.Refuse
				if alone {
					s.memory.Change(func(m *deliverytest.Memory) {
						m.Refuse = func(set delivery.RRset) *delivery.Error {
							if refuse != nil && refuse(set) != nil {
								return refuse(set)
							}
							return gone
						}
					})
				} else {
					s.failProvider(func(context.Context, deliverytest.Point) error { return gone })
				}
				if changes {
					s.zone.PutAddresses(map[string]string{"new": "192.0.2.9", "old": ""})
				} else {
					passTime(61 * time.Minute)
				}
				passTime(time.Minute)
				if state := s.readState(); state.Ready.Status != delivery.False || state.Ready.Reason != delivery.ReasonZoneNotFound ||
					state.Serial != 0 {
					t.Errorf("while it is not there: %+v", state)
				}
				if restarts {
					s.startAgain(time.Minute)
				}
				s.failProvider(nil)
				s.memory.Change(func(m *deliverytest.Memory) { m.Refuse = refuse })
				passTime(11 * time.Minute)
				want := s.zone.ListWanted()
				if beside {
					delete(want, mail.Name.String())
				}
				if got := s.server.Addresses(s.zone.Header.FQDN); !maps.Equal(got, want) {
					t.Errorf("made again it has %v, want %v", got, want)
				}
				if state := s.readState(); state.Serial != s.zone.Serial || (state.Intent != nil) != beside {
					t.Errorf("%+v", state)
				}
			})
		})
	}
}

// The provider may have no zone for the name of a single RRset, for example below another zone. This RRset then fails
// alone. The whole zone is written once because of it, but not again at each retry.
func TestLoop_oneRRsetWithoutAZone(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		s.refuseRRset(delivery.RRsetKey{Name: name.MustParse("host.below.example.org."), Type: rdata.A},
			delivery.Error{Reason: delivery.ReasonZoneNotFound, Message: "no such zone"})
		s.zone.PutAddresses(map[string]string{"host.below": "192.0.2.9"})
		passTime(2 * time.Minute)
		state := s.readState()
		if state.Serial != s.zone.Serial || state.Failed != 1 || !s.hasRRset(www) {
			t.Errorf("%+v", state)
		}
		writes := len(s.server.Writes())
		passTime(30 * time.Minute)
		if state := s.readState(); state.Serial != s.zone.Serial || len(s.server.Writes()) != writes {
			t.Errorf("%d writes, %+v", len(s.server.Writes())-writes, state)
		}
	})
}

// A provider may report a zone as missing for a moment, while it still has the data. Changes made in this time are
// delivered when the zone is there again.
func TestLoop_zoneLostAndFound(t *testing.T) {
	for _, blind := range []bool{false, true} {
		inScene(t, func(s *scene) {
			s.memory.Blind = blind
			s.beginScene()
			s.failProvider(func(context.Context, deliverytest.Point) error {
				return &delivery.Error{Reason: delivery.ReasonZoneNotFound, Message: "no such zone"}
			})
			s.zone.PutAddresses(map[string]string{"www": "", "new": "192.0.2.9"})
			passTime(time.Minute)
			s.zone.PutAddresses(map[string]string{"mail": ""})
			passTime(time.Minute)
			s.failProvider(nil)
			passTime(11 * time.Minute)
			s.expectDelivered("blind", blind)
		})
	}
}

// A requested comparison runs at once and once, and the state confirms the request: beside a refused record, after a
// restart meanwhile, and with a provider that cannot list.
func TestLoop_comparisonOnRequest(t *testing.T) {
	for _, beside := range []bool{false, true} {
		for _, restarts := range []bool{false, true} {
			inScene(t, func(s *scene) {
				if beside {
					s.refuseRRset(mail, refusals["for good"])
				}
				s.beginScene()
				passTime(time.Minute)
				ask := func(request string) {
					zone := zoneOf("z", "main")
					zone.Request = request
					s.worker.SetZone(zone)
					synctest.Wait()
				}
				s.removeRRset(www)
				if restarts {
					s.startAgain(time.Second)
					passTime(time.Minute) // the repeat after a takeover
				}
				ask("one")
				if !s.hasRRset(www) || s.readState().Request != "one" {
					t.Errorf("beside %t, restarts %t: %v, %+v", beside, restarts, s.server.Addresses(s.zone.Header.FQDN), s.readState())
				}
				calls := s.server.Calls("Verify")
				passTime(time.Minute)
				ask("one")
				if s.server.Calls("Verify") != calls {
					t.Error("one request was carried out twice")
				}
				// The state confirms a comparison without differences.
				ask("two")
				if state := s.readState(); state.Request != "two" || state.Drifted.Status != delivery.False ||
					state.Drifted.Reason != delivery.ReasonCompared {
					t.Errorf("%+v", state)
				}
				calls = s.server.Calls("Verify")
				for n := range 100 {
					ask(fmt.Sprint("flood ", n))
					passTime(time.Second)
				}
				passTime(time.Minute)
				if made := s.server.Calls("Verify") - calls; made > 11 || s.readState().Request != "flood 99" {
					t.Errorf("%d comparisons for a hundred requests in 100 seconds, at last %q", made, s.readState().Request)
				}
				s.memory.Change(func(m *deliverytest.Memory) { m.Blind = true })
				ask("blind")
				if state := s.readState(); state.Request != "blind" || state.Drifted.Reason != delivery.ReasonCannotList {
					t.Errorf("%+v", state)
				}
			})
		}
	}
}
