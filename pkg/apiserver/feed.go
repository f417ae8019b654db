// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/zoneview"
)

// feed keeps a Set at the state of the store: every zone at one revision first, each proven by its hash, then the
// journal. A step that does not fit, or a zone that is not what its hash says, starts it over.
type feed struct {
	follow func(ctx context.Context, sink ledger.Sink) error
	set    *zoneview.Set
	// pause between a failure and the next start.
	pause time.Duration
	// uids are the zones in the Set. Only the sink, whose methods are called one after the other, looks at it.
	uids map[string]bool

	mutex sync.Mutex
	// state is closed, and made anew, whenever wrong or proven changes.
	state chan struct{}
	// proven is true from the moment every zone of a start is proven until the next start.
	proven bool
	// wrong is why the last start failed; failures counts them.
	wrong    error
	failures int
}

const (
	feedPause = time.Second
	// maxFailures is how many starts in a row may fail before whoever waits is told.
	maxFailures = 3
)

func newFeed(from *ledger.Ledger, set *zoneview.Set) *feed {
	return &feed{follow: from.Follow, set: set, pause: feedPause, uids: make(map[string]bool), state: make(chan struct{})}
}

// run follows until ctx ends.
func (f *feed) run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := f.once(ctx)
		if ctx.Err() != nil {
			return nil
		}
		f.mutex.Lock()
		f.proven, f.wrong = false, err
		f.failures++
		count := f.failures
		f.changed()
		f.mutex.Unlock()
		klog.FromContext(ctx).Error(err, "a view of the zones is not what the store says; it starts over", "times", count)
		select {
		case <-ctx.Done():
		case <-time.After(f.pause):
		}
	}
	return nil
}

// changed tells those who wait. The mutex is held.
func (f *feed) changed() {
	close(f.state)
	f.state = make(chan struct{})
}

// once follows until something does not fit.
func (f *feed) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	one := &start{feed: f, ctx: ctx, fail: cancel, turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
	err := f.follow(ctx, one)
	cancel(errors.Join(errors.New("the journal ended"), err))
	one.all.Wait()
	return context.Cause(ctx)
}

// check is the readiness of views.
func (f *feed) check() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.proven {
		return nil
	}
	if f.wrong != nil {
		return fmt.Errorf("starting over: %w", f.wrong)
	}
	return errors.New("not proven yet")
}

// wait returns when every zone is in the Set and proven, or too many starts have failed.
func (f *feed) wait(ctx context.Context) error {
	for {
		f.mutex.Lock()
		proven, wrong, failures, state := f.proven, f.wrong, f.failures, f.state
		f.mutex.Unlock()
		if proven {
			return nil
		}
		if failures >= maxFailures {
			return fmt.Errorf("the views of the zones failed %d times: %w; kubizone fsck says what is wrong in the store", failures, wrong)
		}
		select {
		case <-state:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// start is the sink of one pass over all zones and what follows.
type start struct {
	feed *feed
	ctx  context.Context
	fail context.CancelCauseFunc
	// listed are the zones of the present listing, until Ready; listings counts them.
	listed   map[string]bool
	listings int
	// proofs are those of the present listing, all those of every listing.
	proofs *sync.WaitGroup
	all    sync.WaitGroup
	// turns bounds how many zones are being proven at once.
	turns chan struct{}
}

var _ ledger.Sink = (*start)(nil)

// Reset begins a listing.
func (s *start) Reset() {
	s.listed, s.proofs = make(map[string]bool), new(sync.WaitGroup)
	s.feed.mutex.Lock()
	defer s.feed.mutex.Unlock()
	s.listings++
	s.feed.proven = false
	s.feed.changed()
}

// Base takes in a zone and proves it in the background: 7 µs a value, which a big zone must not make the others wait for.
func (s *start) Base(base ledger.Base) {
	identity := zoneOf(base.Zone.UID, base.Identity)
	snapshot := zoneview.NewSnapshot(identity, base.Zone.Header, base.Zone.Serial, base.Zone.N, base.Zone.State, slices.Values(merged(base.Sets)))
	s.listed[identity.UID], s.feed.uids[identity.UID] = true, true
	s.feed.set.Put(snapshot, base.Settled)
	proofs := s.proofs
	proofs.Add(1)
	s.all.Go(func() {
		defer proofs.Done()
		select {
		case s.turns <- struct{}{}:
			defer func() { <-s.turns }()
		case <-s.ctx.Done():
			return
		}
		if err := snapshot.Prove(); err != nil {
			s.fail(err)
		}
	})
}

// Ready drops what the listing does not have, and tells when all of it is proven.
func (s *start) Ready() {
	for uid := range s.feed.uids {
		if !s.listed[uid] {
			s.feed.set.Remove(uid)
			delete(s.feed.uids, uid)
		}
	}
	s.listed = nil
	listing, proofs := s.listings, s.proofs
	s.all.Go(func() {
		proofs.Wait()
		s.feed.mutex.Lock()
		defer s.feed.mutex.Unlock()
		if s.ctx.Err() != nil || s.listings != listing {
			return
		}
		s.feed.proven, s.feed.wrong, s.feed.failures = true, nil, 0
		s.feed.changed()
	})
}

// Apply takes in a transaction of the journal.
func (s *start) Apply(uid string, tx content.Transaction) {
	if s.ctx.Err() != nil {
		return
	}
	var first zoneview.Zone
	if tx.Zone != nil {
		first = zoneOf(uid, *tx.Zone)
	}
	if err := s.feed.set.Apply(uid, tx, first); err != nil {
		s.fail(err)
		return
	}
	if tx.Gone {
		delete(s.feed.uids, uid)
	} else {
		s.feed.uids[uid] = true
	}
}

func zoneOf(uid string, identity content.Identity) zoneview.Zone {
	return zoneview.Zone{UID: uid, View: identity.View, Namespace: identity.Namespace, Name: identity.Name}
}

// merged makes one RRset of those with the same owner and type: records of a zone may stand where a child's glue does.
// sets are in canonical order.
func merged(sets []content.RRset) []content.RRset {
	var out []content.RRset
	for _, set := range sets {
		if last := len(out) - 1; last >= 0 && out[last].Compare(set) == 0 {
			out[last] = out[last].Merge(set)
			continue
		}
		out = append(out, set)
	}
	return out
}
