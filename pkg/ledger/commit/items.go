// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/rules"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

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

// TakeDirty removes and returns up to "most" marked counts.
func (u *usage) TakeDirty(most int) []law.Key {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []law.Key
	for k := range u.dirty {
		if len(out) == most {
			break
		}
		delete(u.dirty, k)
		out = append(out, k)
	}
	return out
}

// ErrCascadeEnded means that a cascade has ended, ErrTakenOver that another server has taken it over.
var (
	ErrCascadeEnded = errors.New("the cascade is through")
	ErrTakenOver    = errors.New("another server carries the cascade out")
)

// Refresh rereads the outbox item after a failed transaction. On ErrCascadeEnded or ErrTakenOver this server must stop
// work on the item.
func (i *Item) Refresh(ctx context.Context, mem *facts.Memory) error {
	r, err := mem.Client.Get(ctx, mem.Layout.Outbox(i.Work.ID))
	if err != nil {
		return err
	}
	if len(r.Kvs) == 0 {
		return ErrCascadeEnded
	}
	if r.Kvs[0].ModRevision == i.Mod {
		return nil
	}
	var w law.Work
	if err := layout.Decode(r.Kvs[0].Value, &w); err != nil {
		return layout.Unreadable(string(r.Kvs[0].Key), err)
	}
	before := i.Work.Runner
	if i.Work, i.Mod = w, r.Kvs[0].ModRevision; w.Runner != before && w.Runner != mem.ID {
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

// NextFreed waits for a name where a client removed a value, so that Records waiting there can be adopted. ok is false
// if ctx ends first.
func (com *Committer) NextFreed(ctx context.Context) (at FreedName, ok bool) {
	select {
	case <-ctx.Done():
		return at, false
	case at = <-com.freedNames:
	}
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	delete(com.queuedNames, at)
	return at, true
}

// Callers hold Memory.Mu.
func (com *Committer) noteFreed(z *law.Zone, step *content.Step) {
	for i := range step.Removed {
		owner := step.Removed[i].Owner
		base := rules.Base(owner)
		at := FreedName{View: z.View, Apex: base.IsApex()}
		at.Name, _ = owner.In(z.FQDN())
		at.Base, _ = base.In(z.FQDN())
		if at.Name.IsZero() || at.Base.IsZero() || com.queuedNames[at] {
			continue
		}
		select {
		case com.freedNames <- at:
			com.queuedNames[at] = true
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
