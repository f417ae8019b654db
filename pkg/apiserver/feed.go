// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/zoneview"
)

// feed keeps a Set at the state of the store: every zone at one revision first, then the journal. Nothing gets into the
// Set that is not proven by its hash. A step that does not fit starts it over; a zone that cannot be proven is frozen
// (frozen.go), and nobody else waits for it.
type feed struct {
	follow func(ctx context.Context, sink ledger.Sink) error
	set    *zoneview.Set
	// pause between a failure and the next start; thaw before frozen zones are read again, doubling up to longestThaw.
	pause, thaw time.Duration
	// uids are the zones of the store, and misfits counts the steps in a row of a zone that did not fit. The start of
	// the moment looks at them, with its mutex held.
	uids    map[string]zoneview.Zone
	misfits map[string]int

	mutex sync.Mutex
	// state is closed, and made anew, whenever wrong or proven changes.
	state chan struct{}
	// proven is true from the moment every zone of a start is proven or frozen until the next start.
	proven bool
	// wrong is why the last start failed; failures counts them.
	wrong    error
	failures int
	// frozen are the zones that cannot be proven, by uid, or by namespace/name where not even the uid can be read.
	frozen map[string]frozenZone
	// proofsFailed counts.
	proofsFailed int64
}

const (
	feedPause = time.Second
	// maxFailures is how many starts in a row may fail before whoever waits is told, and how many steps of one zone may
	// not fit before it is frozen.
	maxFailures = 3
)

func newFeed(from *ledger.Ledger, set *zoneview.Set) *feed {
	return &feed{
		follow: from.Follow, set: set, pause: feedPause, thaw: firstThaw, uids: make(map[string]zoneview.Zone), state: make(chan struct{}),
		misfits: make(map[string]int), frozen: make(map[string]frozenZone),
	}
}

// run follows until ctx ends.
func (f *feed) run(ctx context.Context) error {
	for thaw := f.thaw; ctx.Err() == nil; {
		err := f.once(ctx, thaw)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errThaw) {
			thaw = min(2*thaw, longestThaw)
			continue
		}
		thaw = f.thaw
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

// once follows until something does not fit, or frozen zones are to be read again.
func (f *feed) once(ctx context.Context, thaw time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	one := &start{feed: f, ctx: ctx, fail: cancel, turns: make(chan struct{}, runtime.GOMAXPROCS(0)), proving: make(map[string]*proving)}
	one.all.Go(func() {
		for wait := thaw; ; wait = f.thaw {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			if f.frozenZones() > 0 {
				cancel(errThaw)
			}
		}
	})
	err := f.follow(ctx, one)
	cancel(errors.Join(errors.New("the journal ended"), err))
	one.all.Wait()
	return context.Cause(ctx)
}

// check is the readiness of views. Frozen zones are no reason to serve no other.
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

// wait returns when every zone is in the Set and proven, or frozen, or too many starts have failed.
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
	// listed are the zones of the present listing, and broken those by name that cannot be read, until Ready; listings
	// counts them, with the feed's mutex held.
	listed   map[string]bool
	broken   map[string]error
	listings int
	// proofs are those of the present listing, all those of every listing.
	proofs *sync.WaitGroup
	all    sync.WaitGroup
	// turns bounds how many zones are being proven at once.
	turns chan struct{}

	// mutex guards proving: the zones whose proof is under way.
	mutex   sync.Mutex
	proving map[string]*proving
}

// proving is a zone on its way into the Set. What the journal tells of it meanwhile waits.
type proving struct {
	identity zoneview.Zone
	// here: the Set has just this state already, so nobody waits for a second proof of it.
	here    bool
	waiting []content.Transaction
}

var _ ledger.Sink = (*start)(nil)

// Reset begins a listing.
func (s *start) Reset() {
	s.listed, s.broken, s.proofs = make(map[string]bool), make(map[string]error), new(sync.WaitGroup)
	s.mutex.Lock()
	s.proving = make(map[string]*proving)
	s.mutex.Unlock()
	f := s.feed
	f.mutex.Lock()
	defer f.mutex.Unlock()
	s.listings++
	// What is in the Set stays proven: whoever is ready stays so where this start only looks for frozen zones again.
	f.proven = f.proven && len(f.frozen) > 0 && s.listings == 1
	f.changed()
}

// Unreadable freezes a zone whose object says nothing.
func (s *start) Unreadable(namespace, name string, err error) { s.broken[namespace+"/"+name] = err }

// Apply takes in a transaction of the journal.
func (s *start) Apply(uid string, tx content.Transaction) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	if tx.Gone {
		delete(s.proving, uid)
		s.feed.melt(uid)
	}
	if waits := s.proving[uid]; waits != nil && !waits.here {
		waits.waiting = append(waits.waiting, tx)
		return
	}
	if s.feed.frozenBy(uid) != nil {
		return // nothing can be told of what is not known
	}
	s.take(uid, tx)
}

// take puts a transaction into the Set. The mutex is held.
func (s *start) take(uid string, tx content.Transaction) {
	f := s.feed
	var first zoneview.Zone
	if tx.Zone != nil {
		first = zoneOf(uid, *tx.Zone)
		f.uids[uid] = first
	}
	err := f.set.Apply(uid, tx, first)
	switch {
	case tx.Gone:
		delete(f.uids, uid)
		delete(f.misfits, uid)
	case err == nil && len(tx.Steps) > 0:
		delete(f.misfits, uid)
	case err != nil:
		if f.misfits[uid]++; f.misfits[uid] < maxFailures {
			s.fail(err)
			return
		}
		delete(f.misfits, uid)
		delete(s.proving, uid) // the proof under way is of what was before: it must not thaw what this freezes
		f.freeze(s.ctx, uid, f.uids[uid], fmt.Errorf("%d times in a row a step of the journal did not fit: %w", maxFailures, err))
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
