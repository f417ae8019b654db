// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/lease"
	"kubi.zone/kubizone/pkg/delivery/plan"
	"kubi.zone/kubizone/pkg/delivery/schedule"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
)

// Fault may fail a call of the memoryStore before or after its effect.
type memoryStore struct {
	mu     sync.Mutex
	states map[delivery.Key]delivery.State
	made   map[delivery.Key]time.Time
	writes int
	Fault  func(method string, after bool) error
}

// notifyWorker passes the stored states to a worker, as a controller does before the start.
func (s *memoryStore) notifyWorker(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, state := range s.states {
		w.Hold(key, s.made[key], key.UID, state.Zone)
	}
}

func newStore() *memoryStore {
	return &memoryStore{states: map[delivery.Key]delivery.State{}, made: map[delivery.Key]time.Time{}}
}

func (s *memoryStore) failMethod(method string, after bool) error {
	s.mu.Lock()
	fault := s.Fault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(method, after)
}

func (s *memoryStore) Load(_ context.Context, key delivery.Key) (delivery.State, error) {
	if err := s.failMethod("Load", false); err != nil {
		return delivery.State{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return copyState(s.states[key]), nil
}

func copyState(state delivery.State) delivery.State {
	if state.Intent != nil {
		intent := *state.Intent
		intent.RRsets = slices.Clone(intent.RRsets)
		state.Intent = &intent
	}
	state.Servers = slices.Clone(state.Servers)
	return state
}

func (s *memoryStore) Save(_ context.Context, key delivery.Key, state delivery.State) (string, error) {
	if err := s.failMethod("Save", false); err != nil {
		return "", err
	}
	s.mu.Lock()
	if s.states[key].Version != state.Version {
		s.mu.Unlock()
		return "", lease.ErrConflict
	}
	if s.writes++; state.Version == "" {
		s.made[key] = time.Now()
	}
	state.Version = fmt.Sprint("v", s.writes)
	s.states[key] = copyState(state)
	s.mu.Unlock()
	return state.Version, s.failMethod("Save", true)
}

func (s *memoryStore) Delete(_ context.Context, key delivery.Key) error {
	if err := s.failMethod("Delete", false); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.states, key)
	s.writes++
	return nil
}

func (s *memoryStore) readState(uid, class string) delivery.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copyState(s.states[delivery.Key{UID: uid, Class: class}])
}

func (s *memoryStore) setFault(fault func(method string, after bool) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Fault = fault
}

func (s *memoryStore) countWrites() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

type events struct {
	mu  sync.Mutex
	all []delivery.Event
}

func (e *events) Observe(event delivery.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) eventsOf(uid string) []delivery.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(e.all), func(event delivery.Event) bool { return event.Key.UID != uid })
}

type worker struct {
	*schedule.Loop
	views  *zoneview.Set
	events *events
	cancel context.CancelFunc
	done   chan struct{}
}

var workers int

func startWorker(t *testing.T, store lease.Store, views *zoneview.Set, change func(*schedule.Config)) *worker {
	t.Helper()
	workers++
	w := &worker{views: views, events: &events{}, done: make(chan struct{})}
	config := schedule.Config{
		Identity: fmt.Sprint("worker-", workers), Source: plan.Source{Views: views}, Store: store,
		Observer: w.events, Metrics: &counts{counts: map[string]int{}}, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&config)
	}
	w.Loop = schedule.New(config)
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() {
		defer close(w.done)
		w.Run(ctx)
	}()
	return w
}

func (w *worker) stop() {
	w.cancel()
	<-w.done
}

func zoneOf(uid string, classes ...string) delivery.Zone {
	return delivery.Zone{UID: uid, Classes: classes}
}

type scene struct {
	*testing.T
	store  *memoryStore
	server *deliverytest.Server
	memory *deliverytest.Memory
	zone   *deliverytest.Zone
	worker *worker
	class  delivery.Class
}

func inScene(t *testing.T, run func(*scene)) {
	synctest.Test(t, func(t *testing.T) {
		views := zoneview.NewSet(zoneview.Config{})
		server := deliverytest.NewServer()
		s := &scene{T: t, store: newStore(), server: server, memory: &deliverytest.Memory{Server: server}, zone: deliverytest.NewZone(t, "z", "example.org.", views)}
		s.zone.PutAddresses(map[string]string{"www": "192.0.2.1", "mail": "192.0.2.2"})
		s.worker = startWorker(t, s.store, views, nil)
		defer func() { s.worker.stop() }()
		s.class = delivery.Class{Name: "main", Generation: "1", Target: "here", Provider: s.memory}
		run(s)
	})
}

func (s *scene) beginScene() {
	s.worker.SetClass(s.class)
	s.worker.SetZone(zoneOf("z", "main"))
	synctest.Wait()
}

func (s *scene) replaceWorker(change func(*schedule.Config)) {
	s.worker.stop()
	s.worker = startWorker(s.T, s.store, s.worker.views, change)
}

// expectDelivered requires that the provider has the zone, and that nothing is pending.
func (s *scene) expectDelivered(when ...any) {
	s.Helper()
	s.zone.Expect(s.server)
	if state := s.readState(); state.Serial != s.zone.Serial || state.Intent != nil || state.Failed != 0 || state.Error != nil ||
		state.Ready.Status != delivery.True {
		s.Errorf("%v: %+v", when, state)
	}
}

func (s *scene) failProvider(fault func(context.Context, deliverytest.Point) error) {
	s.memory.Change(func(m *deliverytest.Memory) { m.Fault = fault })
}

func (s *scene) readState() delivery.State { return s.store.readState("z", "main") }

func passTime(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func readHistory(master *zoneview.Set) func(context.Context, string, serial.Serial, serial.Serial) ([]dns.Change, error) {
	return func(_ context.Context, uid string, since, until serial.Serial) ([]dns.Change, error) {
		return master.EntryChanges(uid, since, until)
	}
}
