// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// A record that cannot be read stops nobody else's. A cascade leaves it out and notes it
// in its item, takes its marks from the zones as if it had been decided, and the item
// stays, with nothing but what was left out: a server that can read it again, or finds it
// gone, brings the item to its end.

// MaxDamaged bounds what an item notes. With more of them it is the store that is
// damaged, or the wrong encryption configuration, and the cascade waits for its repair.
const MaxDamaged = 100

func (c candidate) ref() law.Ref {
	return law.Ref{Namespace: c.namespace, Name: c.object, UID: c.uid}
}

// leaveOut notes a record that cannot be read, for the reason cause.
func (s *standing) leaveOut(ctx context.Context, record law.Ref, cause error) error {
	if slices.Contains(s.damaged, record) {
		return nil
	}
	if len(s.damaged) == MaxDamaged {
		return fmt.Errorf("more than %d records: %w: %w", MaxDamaged, facts.ErrDamaged, cause)
	}
	s.damaged = append(s.damaged, record)
	klog.FromContext(ctx).Error(cause, "a cascade leaves out a record that cannot be read; run kubizone fsck", "record", record.Namespace+"/"+record.Name, "why", s.Work.Reason)
	return nil
}

// remains is the item of a work that has left records out and is otherwise through.
func (s *standing) remains() law.Work {
	w := s.Work
	return law.Work{ID: w.ID, Reason: w.Reason, View: w.View, By: w.By, Since: w.Since, Damaged: s.damaged}
}

// collectNamed finds the records that a work names: what it has left out and can be read again, and what is refused now.
func (box *Outbox) collectNamed(ctx context.Context, s *standing, add func(candidate)) error {
	for i, record := range slices.Concat(s.Work.Damaged, s.Work.Refused) {
		turn := max(0, i+1-len(s.Work.Damaged))
		o, _, err := box.mem.ReadRecord(ctx, record.Namespace, record.Name)
		switch {
		case errors.Is(err, facts.ErrDamaged):
			if err := s.leaveOut(ctx, record, err); err != nil {
				return err
			}
		case err != nil:
			return err
		case o != nil && (record.UID == "" || string(o.UID) == record.UID):
			add(candidate{letter: layout.WaitingRecord, namespace: o.Namespace, object: o.Name, uid: string(o.UID), created: o.CreationTimestamp.Unix(), turn: turn})
		}
	}
	return nil
}

// A work that failed rests before it is tried again, each time twice as long.
const (
	firstRest   = time.Second
	longestRest = 5 * time.Minute
	// longestWait is the longest rest of a work that has not failed, and waits for Delivery.
	longestWait = 10 * time.Second
)

// failures are the works that failed at this server since they last went through.
type failures struct {
	mu sync.Mutex
	of map[string]failure
}

type failure struct {
	rest  time.Duration
	until time.Time
}

// add counts one more failure, and returns how long the work rests.
func (f *failures) add(id string, longest time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]failure{}
	}
	rest := max(firstRest, min(2*f.of[id].rest, longest))
	f.of[id] = failure{rest, time.Now().Add(rest)}
	return rest
}

func (f *failures) rests(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Before(f.of[id].until)
}

// keep forgets works that are not in the outbox any longer.
func (f *failures) keep(known map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.of {
		if !known[id] {
			delete(f.of, id)
		}
	}
}
