// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/test/deliverytest"
)

// fleet is a provider with a varying set of servers.
type fleet struct {
	*deliverytest.Memory
	mu      sync.Mutex
	members []string
	has     map[string]serial.Serial
	// needs makes a zone undeliverable without a member.
	needs bool
}

func (f *fleet) refuseEmpty() error {
	if f.needs && len(f.members) == 0 {
		return delivery.Errorf(delivery.ReasonInvalidConfiguration, "the class selects no server")
	}
	return nil
}

func (f *fleet) setMembers(members ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = members
}

func (f *fleet) listRows() []delivery.Server {
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
	return delivery.Report{Confirmed: plan.Serial, Servers: f.listRows()}, f.refuseEmpty()
}

func (f *fleet) Verify(context.Context, delivery.Plan) (delivery.Drift, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return delivery.Drift{Servers: f.listRows()}, f.refuseEmpty()
}

// A class without servers delivers nothing, says so soon, and has no rows. The first new server gets the zone at
// once.
func TestLoop_waitsForAServer_S6_13(t *testing.T) {
	inScene(t, func(s *scene) {
		provider := &fleet{Memory: s.memory, has: map[string]serial.Serial{}, needs: true}
		s.class.Provider, s.class.DriftInterval = provider, time.Hour
		set := func(members ...string) {
			provider.setMembers(members...)
			s.class.Servers = append([]string{}, members...)
			s.worker.SetClass(s.class)
		}
		expect := func(when string, ready delivery.Status, reason delivery.Reason, members ...string) {
			t.Helper()
			state := s.readState()
			if len(state.Servers) != len(members) || state.Ready.Status != ready || state.Ready.Reason != reason {
				t.Errorf("%s: %+v", when, state)
			}
		}
		set()
		s.beginScene()
		passTime(2 * time.Hour)
		expect("before a server came", delivery.False, delivery.ReasonInvalidConfiguration)
		set("one")
		passTime(0)
		expect("when one came", delivery.True, delivery.ReasonAllInstancesConfigured, "one")
		for i := range 2 {
			set()
			passTime(10 * time.Second)
			expect("when the last went", delivery.False, delivery.ReasonInvalidConfiguration)
			passTime(2 * time.Hour)
			s.zone.PutAddresses(map[string]string{"www": fmt.Sprint("192.0.2.", 10+i)})
			passTime(0)
			expect("when the zone changed", delivery.False, delivery.ReasonInvalidConfiguration)
			set("one", "two")
			passTime(0)
			expect("when others came", delivery.True, delivery.ReasonAllInstancesConfigured, "one", "two")
		}
		// A worker that starts without servers finds out at the usual comparison.
		s.worker.stop()
		provider.setMembers()
		s.class.Servers = []string{}
		s.worker = startWorker(s.T, s.store, s.worker.views, nil)
		s.beginScene()
		passTime(10 * time.Second)
		expect("after a restart without a server", delivery.False, delivery.ReasonInvalidConfiguration)
	})
}
