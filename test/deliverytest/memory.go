// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deliverytest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Server is the DNS server of several providers.
type Server struct {
	mu    sync.Mutex
	zones map[name.Name]*zoneData
	log   []Write
	calls map[string]int
}

type zoneData struct {
	sets    map[delivery.RRsetKey]delivery.RRset
	written map[delivery.RRsetKey]bool
}

type Write struct {
	Zone   name.Name
	Serial serial.Serial
	// Set is the RRset after the change; a removal has no Data.
	Set delivery.RRset
}

func NewServer() *Server { return &Server{zones: map[name.Name]*zoneData{}, calls: map[string]int{}} }

func (s *Server) zoneOf(n name.Name) *zoneData {
	z := s.zones[n]
	if z == nil {
		z = &zoneData{sets: map[delivery.RRsetKey]delivery.RRset{}, written: map[delivery.RRsetKey]bool{}}
		s.zones[n] = z
	}
	return z
}

func (s *Server) Inspect(zone name.Name) []delivery.RRset {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.zoneOf(zone)
	var sets []delivery.RRset
	for _, key := range slices.SortedFunc(maps.Keys(z.sets), delivery.RRsetKey.Compare) {
		sets = append(sets, z.sets[key])
	}
	return sets
}

// Disturb writes as another client would, or deletes without Data.
func (s *Server) Disturb(zone name.Name, set delivery.RRset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.zoneOf(zone)
	if len(set.Data) == 0 {
		delete(z.sets, set.Key())
		return
	}
	z.sets[set.Key()] = set
}

// Adopt is Disturb at a server that records no owners.
func (s *Server) Adopt(zone name.Name, set delivery.RRset) {
	s.Disturb(zone, set)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zoneOf(zone).written[set.Key()] = true
}

func (s *Server) Writes() []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

func (s *Server) countCall(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method]++
}

type Point struct {
	// Method is "Deliver", "Withdraw", "Verify" or "Health" (without a Zone).
	Method string
	Zone   name.Name
	Serial serial.Serial
	Set    delivery.RRset
	// Applied is true while the answer of an applied write is pending.
	Applied bool
}

// Memory writes to a Server, RRset by RRset, each with a call of the fence. After its first use, set fields by Change.
type Memory struct {
	Server *Server
	// Fault, if not nil, is called before and after each write, and its error returned. An error before the write
	// prevents the write, an error after it loses the answer. Fault may block until ctx ends, and may panic.
	Fault  func(ctx context.Context, at Point) error
	Refuse func(set delivery.RRset) *delivery.Error
	// Blind providers cannot list: Verify returns ErrCannotList, and a whole zone is written unread.
	Blind         bool
	HidesFromList func(key delivery.RRsetKey) bool
	Lost          []string

	mu     sync.Mutex
	closed bool
}

func (m *Memory) Change(change func(*Memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

var _ delivery.Provider = (*Memory)(nil)

func (m *Memory) writeRRset(ctx context.Context, method string, plan delivery.Plan, fence delivery.Fence, set delivery.RRset) error {
	if err := fence(ctx); err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, plan.CallTimeout)
	defer cancel()
	at := Point{Method: method, Zone: plan.Zone, Serial: plan.Serial, Set: set}
	if err := m.injectFault(call, at); err != nil {
		return err
	}
	m.Server.applyRRset(plan, set)
	at.Applied = true
	return m.injectFault(call, at)
}

func (s *Server) applyRRset(plan delivery.Plan, set delivery.RRset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	z, key := s.zoneOf(plan.Zone), set.Key()
	if len(set.Data) == 0 {
		delete(z.sets, key)
		delete(z.written, key)
	} else {
		set.Data = slices.Clone(set.Data)
		z.sets[key], z.written[key] = set, true
	}
	s.log = append(s.log, Write{plan.Zone, plan.Serial, set})
}

func (m *Memory) injectFault(ctx context.Context, at Point) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	fault := m.Fault
	m.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx, at)
}

func (s *Server) readRRset(zone name.Name, key delivery.RRsetKey) (set delivery.RRset, there, own bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.zoneOf(zone)
	set, there = z.sets[key]
	return set, there, z.written[key]
}

func (m *Memory) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	m.Server.countCall("Deliver")
	var report delivery.Report
	put := func(set delivery.RRset) error {
		existing, there, own := m.Server.readRRset(plan.Zone, set.Key())
		switch {
		case len(set.Data) == 0 && (!there || !own):
			return nil
		case len(set.Data) > 0 && own && there && equalRRsets(existing, set) && !m.Blind:
			return nil
		}
		m.mu.Lock()
		refuse := m.Refuse
		m.mu.Unlock()
		if refuse != nil {
			if err := refuse(set); err != nil {
				report.Failed = append(report.Failed, delivery.Failure{Name: set.Name, Type: set.Type, Err: err})
				return nil
			}
		}
		err := m.writeRRset(ctx, "Deliver", plan, fence, set)
		report.Proven = report.Proven || err == nil
		return err
	}
	if plan.Changes == nil {
		for set := range plan.All {
			if err := put(set); err != nil {
				return report, err
			}
		}
	}
	for _, change := range plan.Changes {
		if err := put(change.After); err != nil {
			return report, err
		}
	}
	if err := ctx.Err(); err != nil {
		return report, err
	}
	report.Confirmed, report.Remains = plan.Serial, plan.Forgotten
	return report, nil
}

func (m *Memory) Remove(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	m.Server.countCall("Withdraw")
	var keys []delivery.RRsetKey
	for set := range plan.All {
		keys = append(keys, set.Key())
	}
	for _, change := range plan.Changes {
		keys = append(keys, change.After.Key())
	}
	for _, key := range keys {
		if _, there, own := m.Server.readRRset(plan.Zone, key); !there || !own {
			continue
		}
		if err := m.writeRRset(ctx, "Withdraw", plan, fence, delivery.RRset{Name: key.Name, Type: key.Type}); err != nil {
			return delivery.Report{}, err
		}
	}
	return delivery.Report{Remains: plan.Forgotten && !plan.Named}, ctx.Err()
}

func (m *Memory) Verify(ctx context.Context, plan delivery.Plan) (delivery.Drift, error) {
	m.Server.countCall("Verify")
	if m.Blind {
		return delivery.Drift{}, delivery.ErrCannotList
	}
	if err := m.injectFault(ctx, Point{Method: "Verify", Zone: plan.Zone, Serial: plan.Serial}); err != nil {
		return delivery.Drift{}, err
	}
	m.mu.Lock()
	hides := m.HidesFromList
	m.mu.Unlock()
	var drift delivery.Drift
	want := map[delivery.RRsetKey]bool{}
	for set := range plan.All {
		want[set.Key()] = true
		existing, there, _ := m.Server.readRRset(plan.Zone, set.Key())
		switch {
		case !there || hides != nil && hides(set.Key()):
			drift.Missing = append(drift.Missing, set)
		case !equalRRsets(existing, set):
			drift.Differing = append(drift.Differing, set)
		}
	}
	for _, set := range m.Server.Inspect(plan.Zone) {
		if !want[set.Key()] {
			drift.Foreign = append(drift.Foreign, set)
		}
	}
	return drift, nil
}

func (m *Memory) Health(ctx context.Context) error {
	return m.injectFault(ctx, Point{Method: "Health"})
}

func (m *Memory) AskLast(context.Context) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lost := m.Lost
	m.Lost = nil
	return lost
}

func (m *Memory) Abilities() delivery.Abilities { return delivery.Abilities{Lists: !m.Blind} }

func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *Memory) Closed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

func equalRRsets(one, other delivery.RRset) bool {
	return one.TTL == other.TTL && slices.Equal(slices.Sorted(slices.Values(one.Data)), slices.Sorted(slices.Values(other.Data)))
}

func Slow(ctx context.Context, _ Point) error {
	<-ctx.Done()
	return &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "no answer in time", Err: ctx.Err()}
}

func Until(passed time.Duration, err error) func(context.Context, Point) error {
	end := time.Now().Add(passed)
	return func(context.Context, Point) error {
		if time.Now().Before(end) {
			return err
		}
		return nil
	}
}
