// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

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
	if u.dirty == nil {
		u.dirty = map[law.Key]bool{}
	}
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

func (com *Committer) OwnItem(id string) {
	com.mem.Mu.Lock()
	com.works[id] = true
	com.mem.Mu.Unlock()
	com.WakeOutbox()
}

// OwnsItem reports whether this process still has to process the item.
func (com *Committer) OwnsItem(id string) bool {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	return com.works[id]
}

func (com *Committer) DisownItem(id string) {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	delete(com.works, id)
}

func (com *Committer) OutboxWakeups() <-chan struct{} { return com.wake }

// NextFreed waits until a client removes a value, and returns the value's name, so that Records waiting there can be
// adopted. It returns false if ctx ends first.
func (com *Committer) NextFreed(ctx context.Context) (freed FreedName, ok bool) {
	select {
	case <-ctx.Done():
		return freed, false
	case freed = <-com.freedNames:
	}
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	delete(com.queuedNames, freed)
	return freed, true
}

// noteFreed queues the names of the removed values, each once, for the outbox to adopt Records that wait there. A full
// channel drops the rest. The caller holds Memory.Mu.
func (com *Committer) noteFreed(z *law.Zone, step *content.Step) {
	for i := range step.Removed {
		owner := step.Removed[i].Owner
		// The end of _acme-challenge.www frees the claim of www as well (S4.7).
		base := rules.Base(owner)
		freed := FreedName{View: z.View, Apex: base.IsApex()}
		freed.Name, _ = owner.In(z.FQDN())
		freed.Base, _ = base.In(z.FQDN())
		if freed.Name.IsZero() || freed.Base.IsZero() || com.queuedNames[freed] {
			continue
		}
		select {
		case com.freedNames <- freed:
			com.queuedNames[freed] = true
		default:
			return
		}
	}
}

func (com *Committer) WakeOutbox() {
	select {
	case com.wake <- struct{}{}:
	default:
	}
}
