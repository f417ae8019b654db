// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromjournal

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed"
)

const (
	failurePause = time.Second
	// Frozen zones are read again after firstRetry, doubled up to longestRetry, so that a repaired zone needs no
	// restart.
	firstRetry   = time.Minute
	longestRetry = time.Hour
)

var errRetry = errors.New("frozen zones are read again")

// Source keeps a feed up to date with the store. The keys of zones are UIDs.
type Source struct {
	*feed.Feed
	follow func(ctx context.Context, sink ledger.Sink) error // Ledger.Follow
	pause  time.Duration                                     // after an error
	retry  time.Duration                                     // before the first new read of frozen zones
}

func New(from *ledger.Ledger, set *zoneview.Set) *Source {
	return &Source{Feed: feed.New(set, runtime.GOMAXPROCS(0)), follow: from.Follow, pause: failurePause, retry: firstRetry}
}

// Run follows the journal until ctx ends, and starts over after each failure or when frozen zones are due. It returns
// nil.
func (s *Source) Run(ctx context.Context) error {
	for retry := s.retry; ctx.Err() == nil; {
		err := s.runPass(ctx, retry)
		if ctx.Err() != nil {
			return nil
		}
		// Nothing failed, so continue without a pause. Zones that are still frozen wait twice as long next time.
		if errors.Is(err, errRetry) {
			retry = min(2*retry, longestRetry)
			continue
		}
		retry = s.retry
		klog.FromContext(ctx).Error(err, "A view of the zones differs from the store; it starts over", "times", s.Fail(err))
		select {
		case <-ctx.Done():
		case <-time.After(s.pause):
		}
	}
	return nil
}

// runPass lists the store once and follows the journal from there. It returns the reason for the end: a failure,
// errRetry, or the end of ctx. All goroutines have ended by then.
func (s *Source) runPass(ctx context.Context, retry time.Duration) error {
	ctx, fail := context.WithCancelCause(ctx)
	p := &pass{Source: s, ctx: ctx, fail: fail}
	// A zone may freeze at any time, so look again after each wait.
	p.goroutines.Go(func() {
		for wait := retry; ; wait = s.retry {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			if frozen, _ := s.Counts(); frozen > 0 {
				fail(errRetry)
			}
		}
	})
	err := s.follow(ctx, p)
	fail(errors.Join(errors.New("the journal ended"), err))
	p.goroutines.Wait()
	return context.Cause(ctx)
}

type pass struct {
	*Source
	ctx        context.Context
	fail       context.CancelCauseFunc
	listings   int
	unreadable map[string]error
	goroutines sync.WaitGroup
}

var _ ledger.Sink = (*pass)(nil)

// Reset begins a listing. The feed may stay in sync during the first listing of a pass.
func (p *pass) Reset() {
	p.listings++
	p.unreadable = make(map[string]error)
	p.BeginListing(p.listings == 1)
}

func (p *pass) Unreadable(namespace, name string, err error) { p.unreadable[namespace+"/"+name] = err }

func (p *pass) Base(base ledger.Base) {
	uid, z := base.Zone.UID, base.Zone
	proof := p.Feed.BeginProof(uid, feed.UnprovenZone{
		Snapshot: zoneview.NewSnapshot(identify(uid, base.Identity), z.Header, z.Serial, z.N, z.State,
			slices.Values(mergeRRsets(base.RRsets))),
		Hash: base.Hash, Settled: base.Settled, UnsettledSteps: base.UndeliveredSteps, FreezeOnFailure: true,
	})
	p.goroutines.Go(func() { p.restartUnlessFrozen(uid, proof.Run(p.ctx)) })
}

func (p *pass) Ready() { p.EndListing(p.ctx, p.unreadable) }

func (p *pass) Apply(uid string, tx content.Transaction) {
	var first zoneview.Zone
	if tx.Zone != nil {
		first = identify(uid, *tx.Zone)
	}
	p.restartUnlessFrozen(uid, p.Feed.Apply(p.ctx, uid, tx, first))
}

func (p *pass) restartUnlessFrozen(uid string, err error) {
	if err != nil && p.FrozenReason(uid) == nil {
		p.fail(err)
	}
}

func identify(uid string, identity content.Identity) zoneview.Zone {
	return zoneview.Zone{UID: uid, View: identity.View, Namespace: identity.Namespace, Name: identity.Name}
}

func mergeRRsets(sets []content.RRset) []content.RRset {
	out := sets[:0]
	for _, set := range sets {
		// The same owner and type in Records and child cuts are adjacent, and make one RRset.
		if last := len(out) - 1; last >= 0 && out[last].Compare(set) == 0 {
			out[last] = out[last].Merge(set)
			continue
		}
		out = append(out, set)
	}
	return out
}
