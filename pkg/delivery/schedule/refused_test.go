// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/test/deliverytest"
)

// Beyond the limit of a State's list.
const many = 300

// refuseMany adds RRsets named poison-… to the zone, and makes the provider refuse them.
func (s *scene) refuseMany(permanent bool) (refuses interface{ Store(bool) }) {
	is := makeFlag(true)
	s.memory.Refuse = func(set delivery.RRset) *delivery.Error {
		if is.Load() && len(set.Data) > 0 && strings.HasPrefix(set.Name.String(), "poison-") {
			return &delivery.Error{Reason: delivery.ReasonValidationFailed, Message: "not this one", Permanent: permanent}
		}
		return nil
	}
	poison := map[string]string{}
	for n := range many {
		poison[fmt.Sprintf("poison-%03d", n)] = "192.0.2.66"
	}
	s.zone.PutAddresses(poison)
	return is
}

// Attack 8 beyond the limit of a State's list: the rest of the zone is confirmed, later changes too. All refused
// RRsets are retried, also after a restart.
func TestLoop_manyRefused(t *testing.T) {
	for _, permanent := range []bool{false, true} {
		t.Run(fmt.Sprint("permanent=", permanent), func(t *testing.T) {
			inScene(t, func(s *scene) {
				refuses := s.refuseMany(permanent)
				confirmed := func(what string) {
					s.Helper()
					state := s.readState()
					if state.Serial != s.zone.Serial || state.Hash == "" || state.Failed != many || state.Ready.Reason != delivery.ReasonValidationFailed {
						s.Errorf("%s: serial %d of %d, %d failed, %+v", what, state.Serial, s.zone.Serial, state.Failed, state.Ready)
					}
					if state.Intent == nil || len(state.Intent.RRsets) > 256 {
						s.Fatalf("%s: the state lists %+v", what, state.Intent)
					}
					events := s.worker.events.eventsOf("z")
					if last := events[len(events)-1]; last.Outcome != delivery.OutcomeDelivered || len(last.Failed) != many {
						s.Errorf("%s: told %s with %d failures", what, last.Outcome, len(last.Failed))
					}
				}
				s.beginScene()
				confirmed("a first delivery")
				s.zone.PutAddresses(map[string]string{"www": "192.0.2.70"})
				passTime(time.Second)
				confirmed("a change beside them")
				if got := s.server.Addresses(s.zone.Header.FQDN); got["www.example.org."] != "192.0.2.70" || len(got) != 2 {
					s.Errorf("the server has %v", got)
				}
				// Comparisons report no drift and lower no serial.
				begun := len(s.worker.events.eventsOf("z"))
				passTime(4 * time.Hour)
				confirmed("hours later")
				for _, event := range s.worker.events.eventsOf("z")[begun:] {
					if event.State.Serial != s.zone.Serial || event.Outcome == delivery.OutcomeDrifted {
						s.Errorf("told %s at %d", event.Outcome, event.State.Serial)
					}
				}
				// A refused RRset leaves the zone, and a delivered one is lost.
				s.zone.PutAddresses(map[string]string{"poison-000": ""})
				s.server.Disturb(s.zone.Header.FQDN, delivery.RRset{Name: mail.Name, Type: mail.Type})
				passTime(2 * time.Hour)
				if state := s.readState(); state.Serial != s.zone.Serial || state.Failed != many-1 {
					s.Errorf("after one was removed: %d failed", state.Failed)
				}
				if got := s.server.Addresses(s.zone.Header.FQDN); len(got) != 2 {
					s.Errorf("the server has %v", got)
				}
				s.worker.stop()
				s.zone.PutAddresses(map[string]string{"mail": "192.0.2.71"})
				s.worker = startWorker(s.T, s.store, s.worker.views, nil)
				s.store.notifyWorker(s.worker)
				s.beginScene()
				passTime(time.Second)
				if state := s.readState(); state.Serial != s.zone.Serial || state.Failed != many-1 {
					s.Errorf("after a restart: serial %d of %d, %d failed", state.Serial, s.zone.Serial, state.Failed)
				}
				if got := s.server.Addresses(s.zone.Header.FQDN); got["mail.example.org."] != "192.0.2.71" {
					s.Errorf("after a restart the server has %v", got)
				}
				refuses.Store(false)
				passTime(2 * time.Hour)
				s.expectDelivered()
			})
		})
	}
}

// A zone has many RRsets that the provider refuses. A change of another record is still confirmed within seconds,
// because each attempt tries only a limited number of the refused RRsets, in turns.
func TestLoop_manyRefusedHoldUpLittle(t *testing.T) {
	inScene(t, func(s *scene) {
		refuses := s.refuseMany(false)
		s.beginScene()
		s.class.RequestsPerSecond = 20
		s.memory.Change(func(m *deliverytest.Memory) {
			refuse := m.Refuse
			m.Refuse = func(set delivery.RRset) *delivery.Error {
				err := refuse(set)
				if err != nil {
					time.Sleep(50 * time.Millisecond) // a call's time
				}
				return err
			}
		})
		passTime(30 * time.Minute)
		for n := range 5 {
			began := time.Now()
			s.zone.PutAddresses(map[string]string{"www": fmt.Sprint("192.0.2.", 70+n)})
			for s.readState().Serial != s.zone.Serial {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
			}
			if elapsed := time.Since(began); elapsed > 10*time.Second {
				s.Errorf("a change beside %d refused RRsets is confirmed after %s", many, elapsed)
			}
			time.Sleep(time.Duration(n) * time.Second)
		}
		refuses.Store(false)
		passTime(30 * time.Minute)
		s.zone.Expect(s.server)
	})
}

func TestLoop_manyRefusedAndWithdrawn(t *testing.T) {
	for _, restart := range []bool{false, true} {
		inScene(t, func(s *scene) {
			refuses := s.refuseMany(true)
			s.beginScene()
			if restart {
				s.replaceWorker(nil)
				s.store.notifyWorker(s.worker)
				s.worker.SetClass(s.class)
			}
			refuses.Store(false)
			zone := zoneOf("z", "main")
			zone.Remove = true
			s.worker.SetZone(zone)
			passTime(time.Hour)
			if got := s.server.Addresses(s.zone.Header.FQDN); len(got) != 0 {
				s.Errorf("restart %v: it left %v", restart, got)
			}
			if state := s.readState(); state.Version != "" {
				s.Errorf("restart %v: %+v", restart, state)
			}
		})
	}
}

// exact removes and replaces only RRsets known from the plan's history, as a provider beside other writers does.
type exact struct {
	*deliverytest.Memory
}

func (e exact) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	if plan.Changes == nil {
		return e.Memory.Deliver(ctx, plan, fence)
	}
	had := map[delivery.RRsetKey][]string{}
	for _, step := range plan.History {
		for _, entry := range slices.Concat(step.Removed, step.Added) {
			key := delivery.RRsetKey{Name: entry.Name, Type: entry.Type}
			had[key] = append(had[key], entry.Data)
		}
	}
	for _, change := range plan.Changes {
		key := change.After.Key()
		had[key] = append(had[key], change.Before.Data...)
	}
	foreign := map[delivery.RRsetKey]bool{}
	for _, is := range e.Server.Inspect(plan.Zone) {
		foreign[is.Key()] = !slices.Contains(had[is.Key()], is.Data[0])
	}
	plan.Changes = slices.DeleteFunc(slices.Clone(plan.Changes), func(change delivery.Change) bool { return foreign[change.After.Key()] })
	return e.Memory.Deliver(ctx, plan, fence)
}

// A refused removal or replacement is retried with the former data; without that data a provider beside other writers
// keeps the RRset as foreign. Other changes are confirmed meanwhile.
func TestLoop_refusedToGo(t *testing.T) {
	for _, count := range []int{1, many} {
		for _, to := range []string{"", "192.0.2.67"} {
			for _, restart := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d to %q restart=%v", count, to, restart), func(t *testing.T) {
					inScene(t, func(s *scene) {
						s.class.Provider = exact{s.memory}
						old, now := map[string]string{}, map[string]string{}
						for n := range count {
							old[fmt.Sprintf("old-%03d", n)], now[fmt.Sprintf("old-%03d", n)] = "192.0.2.66", to
						}
						s.zone.PutAddresses(old)
						s.beginScene()
						passTime(time.Minute)
						s.zone.Expect(s.server)
						keeps := makeFlag(true)
						s.memory.Change(func(m *deliverytest.Memory) {
							m.Refuse = func(set delivery.RRset) *delivery.Error {
								if keeps.Load() && strings.HasPrefix(set.Name.String(), "old-") {
									return &delivery.Error{Reason: delivery.ReasonValidationFailed, Message: "it stays"}
								}
								return nil
							}
						})
						s.zone.PutAddresses(now)
						confirmed := func(what string) {
							t.Helper()
							passTime(time.Minute)
							if state := s.readState(); state.Serial != s.zone.Serial || state.Failed != count ||
								state.Ready.Reason != delivery.ReasonValidationFailed {
								t.Errorf("%s: serial %d of %d, %d failed, %+v", what, state.Serial, s.zone.Serial, state.Failed, state.Ready)
							}
						}
						confirmed("the change that is refused")
						for n := range 3 {
							s.zone.PutAddresses(map[string]string{"www": fmt.Sprint("192.0.2.", 70+n)})
							confirmed("a change beside it")
						}
						if restart {
							s.replaceWorker(nil)
							s.store.notifyWorker(s.worker)
							s.beginScene()
							confirmed("after a restart")
						}
						passTime(30 * time.Minute)
						confirmed("later")
						keeps.Store(false)
						passTime(30 * time.Minute)
						s.expectDelivered()
					})
				})
			}
		}
	}
}
