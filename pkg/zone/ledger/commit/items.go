// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// signals tells the outbox, which works in the background, about commits of this process.
type signals struct {
	Clients atomic.Int64 // time of the last client write of content, in Unix nanoseconds
	Usage   usage
	wake    chan struct{}
	freed   chan FreedName

	mu     sync.Mutex         // guards the fields below
	works  map[string]bool    // outbox items of this process, by ID
	queued map[FreedName]bool // in freed
}

func newSignals() signals {
	return signals{Usage: usage{dirty: map[law.Key]bool{}}, wake: make(chan struct{}, 1), freed: make(chan FreedName, maxFreed),
		works: map[string]bool{}, queued: map[FreedName]bool{}}
}

// usage has the counts that changed. A key of dirty without a namespace means all counts of its zone.
type usage struct {
	mu    sync.Mutex
	dirty map[law.Key]bool
}

// FreedName is a name at which a client removed a value, and its base.
type FreedName struct {
	View       string
	Name, Base name.Name
	Apex       bool
}

// maxFreed bounds the channel. Records that wait at a dropped name are tried in the next round.
const maxFreed = 256

// noteCounts marks the namespaces whose number of Records or rules a transaction has changed. Only a zone with
// Delegations shows such counts, in the status of the Delegations.
func (u *usage) noteCounts(c *law.ZoneChange, facts map[law.Key]any) {
	if c == nil || c.Holding == nil || c.Holding.Delegations == 0 {
		return
	}
	for k := range facts {
		if k.Kind == law.KindCount || k.Kind == law.KindRules {
			u.MarkDirty(law.CountKey(k.Zone, k.Namespace))
		}
	}
}

// MarkDirty marks a count for the outbox's next sweep.
func (u *usage) MarkDirty(k law.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dirty[k] = true
}

// TakeDirty unmarks and returns some marked counts, up to a limit.
func (u *usage) TakeDirty(limit int) []law.Key {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []law.Key
	for k := range u.dirty {
		if len(out) == limit {
			break
		}
		delete(u.dirty, k)
		out = append(out, k)
	}
	return out
}

var (
	ErrCascadeEnded = errors.New("the cascade is through")
	ErrTakenOver    = errors.New("another server carries the cascade out")
)

// Refresh reads the outbox item (background work) again after a failed transaction. After ErrCascadeEnded or
// ErrTakenOver, this server must stop work on the item.
func (i *Item) Refresh(ctx context.Context, mem *facts.Memory) error {
	r, err := mem.Client.Get(ctx, mem.Layout.Outbox(i.Work.ID))
	if err != nil {
		return err
	}
	if len(r.Kvs) == 0 {
		// The last transaction of a work deletes the item.
		return ErrCascadeEnded
	}
	if r.Kvs[0].ModRevision == i.Mod {
		return nil
	}
	var w law.Work
	if err := layout.Decode(r.Kvs[0].Value, &w); err != nil {
		return layout.Unreadable(string(r.Kvs[0].Key), err)
	}
	runnerBefore := i.Work.Runner
	if i.Work, i.Mod = w, r.Kvs[0].ModRevision; w.Runner != runnerBefore && w.Runner != mem.ID {
		// Another server took the item, because this server did not renew the lease in time.
		return ErrTakenOver
	}
	return nil
}

// OwnItem makes this process begin a work at once. Other servers find the item in etcd.
func (s *signals) OwnItem(id string) {
	s.mu.Lock()
	s.works[id] = true
	s.mu.Unlock()
	s.WakeOutbox()
}

// OwnsItem reports whether this process still has to process the item.
func (s *signals) OwnsItem(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.works[id]
}

func (s *signals) DisownItem(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.works, id)
}

func (s *signals) OutboxWakeups() <-chan struct{} { return s.wake }

// NextFreed waits until a client removes a value, and returns the value's name, so that Records waiting there can be
// adopted. It returns false if ctx ends first.
func (s *signals) NextFreed(ctx context.Context) (freed FreedName, ok bool) {
	select {
	case <-ctx.Done():
		return freed, false
	case freed = <-s.freed:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.queued, freed)
	return freed, true
}

// noteFreed queues the names of the removed values, each once, for the outbox to adopt Records that wait there. A full
// channel drops the rest.
func (s *signals) noteFreed(z *law.Zone, step *content.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range step.Removed {
		owner := step.Removed[i].Owner
		// The end of _acme-challenge.www frees the claim of www as well (S4.7).
		base := rules.Base(owner)
		freed := FreedName{View: z.View, Apex: base.IsApex()}
		freed.Name, _ = owner.In(z.FQDN())
		freed.Base, _ = base.In(z.FQDN())
		if freed.Name.IsZero() || freed.Base.IsZero() || s.queued[freed] {
			continue
		}
		select {
		case s.freed <- freed:
			s.queued[freed] = true
		default:
			return
		}
	}
}

func (s *signals) WakeOutbox() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
