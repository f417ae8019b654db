// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/plan"
	"kubi.zone/kubizone/pkg/delivery/schedule"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
)

var (
	www  = delivery.RRsetKey{Name: name.MustParse("www.example.org."), Type: rdata.A}
	mail = delivery.RRsetKey{Name: name.MustParse("mail.example.org."), Type: rdata.A}
)

// failWrites makes every write fail. tries returns the times of the attempts.
func (s *scene) failWrites(err error) (tries func() []time.Time) {
	var mu sync.Mutex
	var all []time.Time
	s.failProvider(func(_ context.Context, at deliverytest.Point) error {
		mu.Lock()
		defer mu.Unlock()
		if !at.Applied {
			all = append(all, time.Now())
		}
		return err
	})
	return func() []time.Time {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func makeFlag(set bool) *atomic.Bool {
	var flag atomic.Bool
	flag.Store(set)
	return &flag
}

func measureGaps(tries []time.Time) []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(tries); i++ {
		gaps = append(gaps, tries[i].Sub(tries[i-1]))
	}
	return gaps
}

// The log repeats Ready once for each cause of waiting.
func TestLoop_logsWhatItWaitsFor(t *testing.T) {
	inScene(t, func(s *scene) {
		s.worker.stop()
		var log strings.Builder
		s.worker = startWorker(s.T, s.store, s.worker.views, func(c *schedule.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		s.failWrites(&delivery.Error{Reason: delivery.ReasonServerError, Message: "it is on fire"})
		s.beginScene()
		passTime(time.Hour)
		s.failProvider(nil)
		passTime(20 * time.Minute)
		s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Paused: true})
		passTime(time.Minute)
		s.worker.stop()
		var whys []string
		for line := range strings.Lines(log.String()) {
			if _, waits, ok := strings.Cut(line, `msg="A delivery waits" uid=z class=main why=`); ok {
				why, _, _ := strings.Cut(waits, " until=")
				whys = append(whys, why)
			}
		}
		if want := []string{`"it is on fire"`, `"everything in the class has confirmed the serial"`, `"the zone is paused"`}; !slices.Equal(whys, want) {
			t.Errorf("%v, want %v:\n%s", whys, want, log.String())
		}
	})
}

// An RRset that the provider refused has to be tried again. It stays in the list of these RRsets even if a delivery of
// the whole zone begins and fails, although the record of that delivery does not list single RRsets.
func TestLoop_refusedBesideTheWholeZone(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		refuses := s.refuseRRset(mail, refusals["for good"])
		s.zone.PutAddresses(map[string]string{"mail": ""})
		passTime(time.Minute)
		if state := s.readState(); state.Serial != s.zone.Serial || state.Failed != 1 {
			t.Fatalf("nothing is refused: %+v", state)
		}
		tries := s.failWrites(&delivery.Error{Reason: delivery.ReasonServerError, Message: "it is on fire"})
		s.zone.PutAddresses(map[string]string{"www": "192.0.2.9"})
		passTime(time.Second)
		s.class.Target = "there"
		s.worker.SetClass(s.class)
		passTime(time.Minute)
		if len(tries()) == 0 || s.readState().Serial != 0 {
			t.Fatalf("nothing fails: %+v", s.readState())
		}
		refuses.Store(false)
		s.failProvider(nil)
		s.worker.Retry("main")
		passTime(time.Minute)
		s.expectDelivered()
	})
}

// If a provider answers 429 for one zone and says that the limit is for all, every zone of the class waits for the time
// in Retry-After.
func TestLoop_wholeClassWaits(t *testing.T) {
	inScene(t, func(s *scene) {
		for i := range 50 {
			uid := fmt.Sprint("z", i)
			deliverytest.NewZone(t, uid, fmt.Sprintf("zone%d.example.", i), s.worker.views).PutAddresses(map[string]string{"www": "192.0.2.1"})
			s.worker.SetZone(zoneOf(uid, "main"))
		}
		tries := s.failWrites(&delivery.Error{Reason: delivery.ReasonRateLimited, Message: "less", RetryAfter: time.Minute,
			WholeClass: true})
		s.beginScene()
		passTime(59 * time.Second)
		if count := len(tries()); count == 0 || count > 8 {
			t.Errorf("%d tries in the first minute; what was under way, and no more", count)
		}
		if status := s.worker.Status()[0]; status.PausedUntil.IsZero() || status.Waiting == 0 {
			t.Errorf("%+v", status)
		}
		s.failProvider(nil)
		passTime(2 * time.Minute)
		s.zone.Expect(s.server)
		if status := s.worker.Status()[0]; !status.PausedUntil.IsZero() || status.Failing != 0 || len(s.server.Writes()) != 52 {
			t.Errorf("%+v, %d writes", status, len(s.server.Writes()))
		}
	})
}

func TestLoop_rateLimit(t *testing.T) {
	inScene(t, func(s *scene) {
		s.class.RequestsPerSecond = 10
		many := map[string]string{}
		for i := range 108 {
			many[fmt.Sprint("n", i)] = "192.0.2.1"
		}
		s.zone.PutAddresses(many)
		s.beginScene()
		if wrote := len(s.server.Writes()); wrote != 10 {
			t.Errorf("a burst of %d at 10 a second", wrote)
		}
		passTime(5*time.Second + time.Millisecond)
		if wrote := len(s.server.Writes()); wrote != 60 {
			t.Errorf("%d writes after 5 seconds", wrote)
		}
		passTime(time.Minute)
		s.zone.Expect(s.server)
	})
}

// Attack 56: an empty list from the provider causes no deletion.
func TestLoop_emptyListDeletesNothing(t *testing.T) {
	inScene(t, func(s *scene) {
		s.beginScene()
		s.memory.Change(func(m *deliverytest.Memory) { m.HidesFromList = func(delivery.RRsetKey) bool { return true } })
		passTime(3 * time.Hour)
		s.zone.Expect(s.server)
		for _, write := range s.server.Writes() {
			if len(write.Set.Data) == 0 {
				t.Errorf("deleted: %+v", write)
			}
		}
	})
}

// followers is a provider whose servers fetch the zone.
type followers struct {
	*deliverytest.Memory
	report func(plan delivery.Plan) delivery.Report
}

func (f followers) Deliver(_ context.Context, plan delivery.Plan, _ delivery.Fence) (delivery.Report, error) {
	return f.report(plan), nil
}

// A class confirms the serial that its slowest server has. While servers are behind, the state is stored only when it
// has changed, and they are asked at growing intervals.
func TestLoop_serversOnTheirWay(t *testing.T) {
	inScene(t, func(s *scene) {
		var asked atomic.Int64
		arrived, down := makeFlag(false), makeFlag(false)
		s.class.Provider = followers{s.memory, func(plan delivery.Plan) delivery.Report {
			asked.Add(1)
			report := delivery.Report{Servers: []delivery.Server{{Name: "192.0.2.53", Serial: plan.Serial, At: time.Now()}, {Name: "192.0.2.54", Note: "its serial is 7", At: time.Now()}}}
			switch {
			case arrived.Load():
				report.Servers[1].Serial, report.Confirmed = plan.Serial, plan.Serial
			case down.Load():
				report.Servers[1].Err = &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "192.0.2.54: no answer"}
			}
			return report
		}}
		s.beginScene()
		if state := s.readState(); state.Serial != 0 || state.Ready.Status != delivery.Unknown || len(state.Servers) != 2 ||
			state.Ready.Message != "servers have not confirmed the serial yet; 192.0.2.54: its serial is 7" {
			t.Errorf("%+v", state)
		}
		down.Store(true)
		passTime(10 * time.Minute)
		if asked := asked.Load(); asked < 12 || asked > 25 {
			t.Errorf("asked %d times in 10 minutes; half a second at first, a minute at most", asked)
		}
		if state := s.readState(); state.Ready != (delivery.Condition{Status: delivery.False, Reason: delivery.ReasonServerUnreachable,
			Message: "192.0.2.54: no answer"}) {
			t.Errorf("%+v", state)
		}
		if wrote := s.store.countWrites(); wrote != 2 {
			t.Errorf("%d state writes; on the way, and unreachable", wrote)
		}
		arrived.Store(true)
		passTime(time.Minute)
		if state := s.readState(); state.Serial != s.zone.Serial || state.Ready.Status != delivery.True || state.Error != nil {
			t.Errorf("%+v", state)
		}
		if wrote := s.store.countWrites(); wrote != 3 {
			t.Errorf("%d state writes: nothing is written outside, so there is no intent", wrote)
		}
	})
}

// stuck delivers example.org. until its context ends, without a call of the fence.
type stuck struct{ *deliverytest.Memory }

func (s stuck) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	if plan.Zone != org {
		return s.Memory.Deliver(ctx, plan, fence)
	}
	<-ctx.Done()
	return delivery.Report{}, ctx.Err()
}

// A hanging delivery ends after five minutes, and holds up no other zone.
func TestLoop_stalledProvider(t *testing.T) {
	inScene(t, func(s *scene) {
		s.class.Provider = stuck{s.memory}
		s.beginScene()
		other := s.addZone("other", net)
		synctest.Wait()
		other.Expect(s.server)
		passTime(5*time.Minute + time.Second)
		if state := s.readState(); state.Ready.Reason != delivery.ReasonServerUnreachable || state.Error == nil {
			t.Errorf("%+v", state)
		}
	})
}

// A pause stops a delivery before its next call.
func TestLoop_pausedMeanwhile(t *testing.T) {
	inScene(t, func(s *scene) {
		s.class.RequestsPerSecond = 1
		s.zone.PutAddresses(map[string]string{"a": "192.0.2.1", "b": "192.0.2.1", "c": "192.0.2.1", "d": "192.0.2.1"})
		s.beginScene()
		passTime(1500 * time.Millisecond)
		s.class.Paused = true
		s.worker.SetClass(s.class)
		passTime(time.Hour)
		if wrote := len(s.server.Writes()); wrote != 2 {
			t.Errorf("%d writes; the pause came after the second", wrote)
		}
		if len(s.worker.events.eventsOf("z")) != 0 {
			t.Errorf("a pause is told as %+v", s.worker.events.eventsOf("z"))
		}
		s.class.Paused = false
		s.worker.SetClass(s.class)
		passTime(time.Minute)
		s.zone.Expect(s.server)
	})
}

// After a restart the worker lacks the content of a zone to be removed, and needs the names for a provider without a
// list. The worker asks the API server for them, or waits for the view (S3.7).
func TestLoop_withdrawsAfterARestart_S3_7(t *testing.T) {
	for _, from := range []string{"its view", "the server", "nowhere"} {
		inScene(t, func(s *scene) {
			s.memory.Blind = true
			s.beginScene()
			confirmed := s.readState().Serial
			snapshot, _ := s.worker.views.Settled("z")
			s.worker.stop()
			views := zoneview.NewSet(zoneview.Config{})
			s.memory = &deliverytest.Memory{Server: s.server, Blind: true}
			s.class.Provider = s.memory
			s.worker = startWorker(s.T, s.store, views, func(c *schedule.Config) {
				c.EndedRRsets = func(_ context.Context, uid string, since serial.Serial) (keys []delivery.RRsetKey, _ error) {
					if uid != "z" || since != confirmed {
						t.Errorf("asked for what %s had since %d, want z and %d", uid, since, confirmed)
					}
					for entry := range snapshot.Entries() {
						if from == "the server" {
							keys = append(keys, delivery.RRsetKey{Name: entry.Name, Type: entry.Type})
						}
					}
					return keys, nil
				}
			})
			s.worker.SetClass(s.class)
			s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Remove: true})
			passTime(time.Minute)
			if withdrawn := s.readState().Version == ""; withdrawn != (from == "the server") {
				t.Fatalf("known from %s: withdrawn at once: %t", from, withdrawn)
			}
			if from == "its view" {
				views.Put(snapshot, true)
				synctest.Wait()
			}
			if left := s.server.Addresses(s.zone.Header.FQDN); len(left) > 0 && from != "nowhere" {
				t.Errorf("known from %s: left: %v", from, left)
			}
			passTime(10 * time.Minute)
			if s.readState().Version != "" {
				t.Errorf("it waits for ever: %+v", s.readState())
			}
			if reported := slices.ContainsFunc(s.worker.events.eventsOf("z"),
				func(e delivery.Event) bool { return e.LeftoverZone == s.zone.Header.FQDN }); reported != (from == "nowhere") {
				t.Errorf("known from %s; something is said to remain: %t", from, reported)
			}
		})
	}
}

// A zone that ended has no content in memory any more. Its last content is nevertheless removed from the provider, even
// if the provider cannot list what it has, and whichever of the two events comes first (S3.7).
func TestLoop_withdrawsWhatEnded_S3_7(t *testing.T) {
	for _, viewFirst := range []bool{true, false} {
		inScene(t, func(s *scene) {
			s.memory.Blind = true
			s.beginScene()
			ends := []func(){
				func() { s.worker.views.Remove("z") },
				func() { s.worker.SetZone(delivery.Zone{UID: "z", Classes: []string{"main"}, Remove: true}) },
			}
			if !viewFirst {
				slices.Reverse(ends)
			}
			for _, end := range ends {
				end()
				synctest.Wait()
			}
			passTime(time.Minute)
			if left := s.server.Addresses(s.zone.Header.FQDN); len(left) > 0 || s.readState().Version != "" {
				t.Errorf("left: %v, state %+v", left, s.readState())
			}
		})
	}
}

type counts struct {
	mu     sync.Mutex
	counts map[string]int
	lag    time.Duration
}

func (c *counts) addCount(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what] += n
}

func (c *counts) CountCall(call schedule.Call) {
	c.addCount(fmt.Sprint(call.Class, " ", call.Method, " ", call.Reason), 1)
}

func (c *counts) CountDelivery(class string, lag time.Duration) {
	c.addCount(class+" confirmed", 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = max(c.lag, lag)
}

func (c *counts) CountDrift(class string, missing, differing, foreign int) {
	c.addCount(class+" drift", missing+10*differing+100*foreign)
}
func (c *counts) CountFenced(class string) { c.addCount(class+" fenced", 1) }

// A change from before the start of the process counts from its commit, by the steps in memory or in the journal.
func TestLoop_lagOfAChangeBeforeTheStart(t *testing.T) {
	for where, inMemory := range map[string]bool{"memory": true, "journal": false} {
		t.Run(where, func(t *testing.T) {
			inScene(t, func(s *scene) {
				s.beginScene()
				passTime(time.Minute)
				s.worker.stop()
				master, views := s.worker.views, s.worker.views
				s.zone.Time = time.Now().Unix()
				s.zone.PutAddresses(map[string]string{"www": "192.0.2.9"})
				s.zone.Time = time.Now().Add(5 * time.Minute).Unix()
				s.zone.PutAddresses(map[string]string{"www": "192.0.2.10"})
				passTime(10 * time.Minute)
				if !inMemory {
					views = zoneview.NewSet(zoneview.Config{})
					whole, _ := master.Settled("z")
					views.Put(whole, true)
				}
				metrics := &counts{counts: map[string]int{}}
				s.worker = startWorker(s.T, s.store, views, func(c *schedule.Config) {
					c.Metrics = metrics
					c.History = readHistory(master)
					c.ChangedAt = plan.Source{Views: master}.FindChangedAt
				})
				s.beginScene()
				passTime(time.Minute)
				s.expectDelivered("after the restart")
				metrics.mu.Lock()
				defer metrics.mu.Unlock()
				if metrics.lag < 10*time.Minute || metrics.lag > 11*time.Minute {
					t.Errorf("the lag is %s", metrics.lag)
				}
			})
		})
	}
}

func TestLoop_metrics(t *testing.T) {
	inScene(t, func(s *scene) {
		s.worker.stop()
		metrics := &counts{counts: map[string]int{}}
		s.worker = startWorker(s.T, s.store, s.worker.views, func(c *schedule.Config) { c.Metrics = metrics })
		s.beginScene()
		s.failProvider(deliverytest.Until(time.Minute, &delivery.Error{Reason: delivery.ReasonServerError, Message: "no"}))
		for i := range 3 {
			s.zone.PutAddresses(map[string]string{"www": fmt.Sprint("192.0.2.", 50+i)})
		}
		passTime(3 * time.Minute)
		s.removeRRset(mail)
		passTime(time.Hour)
		want := map[string]int{"main confirmed": 2, "main drift": 1, "main Verify ": 1, "main Deliver ": 3, "main Deliver ServerError": 4}
		metrics.mu.Lock()
		defer metrics.mu.Unlock()
		if !maps.Equal(metrics.counts, want) {
			t.Errorf("got %v, want %v", metrics.counts, want)
		}
		if metrics.lag < time.Minute || metrics.lag > 90*time.Second {
			t.Errorf("the longest lag is %s", metrics.lag)
		}
	})
}

// Lasting differences count once, also after a restart, and a difference that recurs counts again. Foreign records of
// the first comparison do not count.
func TestLoop_driftIsCountedOnce(t *testing.T) {
	inScene(t, func(s *scene) {
		metrics := &counts{counts: map[string]int{}}
		drifts := func() int {
			metrics.mu.Lock()
			defer metrics.mu.Unlock()
			return metrics.counts["main drift"]
		}
		refuses := makeFlag(false)
		s.memory.Refuse = func(set delivery.RRset) *delivery.Error {
			if refuses.Load() {
				return &delivery.Error{Reason: delivery.ReasonValidationFailed, Message: "not now"}
			}
			return nil
		}
		restart := func() {
			s.replaceWorker(func(c *schedule.Config) { c.Metrics = metrics })
			s.store.notifyWorker(s.worker)
			s.beginScene()
		}
		foreign := func(owner string) {
			s.server.Disturb(s.zone.Header.FQDN, delivery.RRset{Name: name.MustParse(owner + ".example.org."), Type: rdata.A, Data: []string{"192.0.2.99"}})
		}
		foreign("theirs")
		restart()
		passTime(3 * time.Hour)
		if got := drifts(); got != 0 {
			t.Errorf("what others had before is counted: %d", got)
		}
		refuses.Store(true)
		s.removeRRset(mail)
		foreign("new")
		passTime(5 * time.Hour)
		restart()
		passTime(5 * time.Hour)
		if got := drifts(); got != 1+100 {
			t.Errorf("one that is not mended, and one that came: %d, want 101", got)
		}
		refuses.Store(false)
		passTime(2 * time.Hour)
		s.removeRRset(mail)
		passTime(2 * time.Hour)
		s.removeRRset(mail)
		passTime(2 * time.Hour)
		if got := drifts(); got != 3+100 {
			t.Errorf("lost and mended twice more: %d, want 103", got)
		}
	})
}

// A refused RRset is tried again ever less often, down to once in ten minutes. Deliveries of other changes do not
// restart this.
func TestLoop_refusedSlowsDown(t *testing.T) {
	for _, busy := range []bool{false, true} {
		inScene(t, func(s *scene) {
			var mu sync.Mutex
			var tries []time.Time
			s.memory.Change(func(m *deliverytest.Memory) {
				m.Refuse = func(set delivery.RRset) *delivery.Error {
					if set.Key() != mail {
						return nil
					}
					mu.Lock()
					defer mu.Unlock()
					tries = append(tries, time.Now())
					return &delivery.Error{Reason: delivery.ReasonServerError, Code: "500", Message: "not now"}
				}
			})
			s.beginScene()
			writes := s.store.countWrites()
			for minute := range 40 {
				if busy && minute > 30 {
					s.zone.PutAddresses(map[string]string{"www": fmt.Sprint("192.0.2.", 100+minute)})
				}
				passTime(time.Minute)
			}
			mu.Lock()
			got := measureGaps(tries)
			mu.Unlock()
			want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, 10 * time.Minute}
			if len(got) < len(want) {
				t.Fatalf("given up: %v", got)
			}
			for i, most := range want {
				if got[i] > most || got[i] < most*4/5 {
					t.Errorf("busy %t: gap %d is %s, want %s less up to a fifth: %v", busy, i, got[i], most, got)
				}
			}
			if wrote := s.store.countWrites() - writes; !busy && wrote > 20 {
				t.Errorf("%d state writes for %d tries", wrote, len(got))
			}
		})
	}
}
