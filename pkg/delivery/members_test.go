// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/deliverytest"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// fleet is a provider whose servers come and go while it lives, and take what they are given.
type fleet struct {
	*deliverytest.Memory
	mu      sync.Mutex
	members []string
	has     map[string]serial.Serial
}

func (f *fleet) set(members ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = members
}

// rows has a row for each server that there is now.
func (f *fleet) rows() []delivery.Server {
	rows := []delivery.Server{}
	for _, member := range f.members {
		rows = append(rows, delivery.Server{Name: member, Serial: f.has[member], At: time.Now()})
	}
	return rows
}

func (f *fleet) Deliver(_ context.Context, plan delivery.Plan, _ delivery.Fence) (delivery.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, member := range f.members {
		f.has[member] = plan.Serial
	}
	return delivery.Report{Confirmed: plan.Serial, Servers: f.rows()}, nil
}

func (f *fleet) Verify(context.Context, delivery.Plan) (delivery.Drift, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return delivery.Drift{Servers: f.rows()}, nil
}

// A server that comes gets the zone with the next comparison, and one that goes has no row after it: neither takes
// another provider, or another target of the class.
func TestLoop_serversComeAndGo(t *testing.T) {
	inScene(t, func(s *scene) {
		provider := &fleet{Memory: s.memory, members: []string{"one"}, has: map[string]serial.Serial{}}
		s.class.Provider, s.class.DriftInterval = provider, time.Minute
		s.start()
		expect := func(when string, members ...string) {
			t.Helper()
			state := s.state()
			if len(state.Servers) != len(members) || state.Ready.Status != delivery.True {
				t.Fatalf("%s: %+v", when, state)
			}
			for i, row := range state.Servers {
				if row.Name != members[i] || row.Serial != state.Serial || row.Serial == 0 {
					t.Errorf("%s: %+v", when, row)
				}
			}
		}
		expect("at the start", "one")
		provider.set("one", "two")
		after(2 * time.Minute)
		expect("after another came", "one", "two")
		provider.set("two")
		after(2 * time.Minute)
		expect("after the first went", "two")
		provider.set()
		after(2 * time.Minute)
		expect("after the last went")
	})
}
