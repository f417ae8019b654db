// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// Set is a change set: writes of several Records of a zone, committed in one transaction or not at all. The requests of
// the items wait until all have arrived, and each write is decided on the result of the earlier writes. The set ends
// with the context of any write. Methods except Require may be called concurrently.
type Set struct {
	// Manager is the field manager of the request, for the history; "" counts as that of the items' fields.
	Manager string

	l        *Ledger
	requires []records.Requirement // prerequisites

	mu        sync.Mutex
	items     []setItem
	refused   bool                   // an item was refused before the decision; nothing is committed then
	failure   error                  // of the whole set
	closedErr error                  // for later items, nil while the set is open
	deciding  bool                   // during the commit
	sent      bool                   // the items may be committed, even after an error
	zone      *v1alpha1.AdoptingZone // after the commit
	serial    int64                  // of zone
}

type setItem struct {
	write     *commit.SetWrite // nil until the write arrives, and again after the answer
	ended     bool
	arrived   bool // the write has reached the commit once
	creates   bool
	unchanged bool
	growth    int64 // of the stored object, in octets
}

func (l *Ledger) NewSet(n int) *Set { return &Set{l: l, items: make([]setItem, n)} }

// Require sets prerequisites on the zone. Call Require before any write arrives, because it takes no lock.
func (s *Set) Require(prerequisites []v1alpha1.ChangeSetPrerequisite) (err error) {
	s.requires, err = objects.ReadPrerequisites(prerequisites)
	return err
}

type setKey struct{}

type setPlace struct {
	set   *Set
	index int
}

func (s *Set) Context(ctx context.Context, i int) context.Context {
	return context.WithValue(ctx, setKey{}, setPlace{s, i})
}

func setOf(ctx context.Context) (*Set, int) {
	p, _ := ctx.Value(setKey{}).(setPlace)
	return p.set, p.index
}

// GrowthInSet notes the octets by which the write of ctx enlarges its object, and returns the sum of the change set,
// for the budget. Outside a change set, it returns the octets of the write.
func GrowthInSet(ctx context.Context, octets int64) int64 {
	s, i := setOf(ctx)
	if s == nil {
		return octets
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items[i].growth = octets
	all := int64(0)
	for _, x := range s.items {
		all += x.growth
	}
	return all
}

func errSetEnded(why error) error {
	return &setEndedError{why}
}

type setEndedError struct{ why error }

func (e *setEndedError) Error() string {
	return "not written, as the change set was not: " + e.why.Error()
}
func (e *setEndedError) Unwrap() error { return e.why }

// Status returns an API error that Kubernetes' handlers do not retry.
func (e *setEndedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusFailedDependency, Reason: v1alpha1.StatusReasonChangeSetEnded,
		Message: e.Error()}
}

var errOthersRefused = errors.New("other items of it were refused")

// EndRequest notes that the request of item i has ended, perhaps refused. It decides the set if all other writes have
// arrived or ended.
func (s *Set) EndRequest(i int, refused bool) {
	s.mu.Lock()
	s.items[i].ended = true
	s.refused = s.refused || refused
	ready := s.takeReady()
	s.mu.Unlock()
	if ready != nil {
		s.decideSet(ready)
	}
}

func (s *Set) HasArrived(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[i].arrived
}

func (s *Set) IsUnchanged(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[i].unchanged
}

func (s *Set) CountCreations() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.items {
		if x.creates {
			n++
		}
	}
	return n
}

func (s *Set) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// NothingWritten reports whether the set is certainly not written. Call it after all requests have ended.
func (s *Set) NothingWritten() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.deciding && !s.sent
}

func (s *Set) CommittedZone() (*v1alpha1.AdoptingZone, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zone, s.serial
}

// Abandon ends the set: all waiting and later writes return an error that wraps cause. A decision in progress
// continues.
func (s *Set) Abandon(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandonSet(cause)
}

func (s *Set) abandonSet(cause error) {
	if s.closedErr != nil || s.deciding {
		return
	}
	s.closedErr = errSetEnded(cause)
	for i := range s.items {
		if w := s.items[i].write; w != nil {
			w.Answers <- commit.SetAnswer{Err: s.closedErr}
			s.items[i].write = nil
		}
	}
}

// takeReady returns the writes to decide, nil while any is missing. The caller holds s.mu.
func (s *Set) takeReady() (all []*commit.SetWrite) {
	if s.closedErr != nil || s.deciding {
		return nil
	}
	for _, x := range s.items {
		switch {
		case x.write != nil:
			all = append(all, x.write)
		case !x.ended:
			return nil
		}
	}
	s.deciding = len(all) > 0
	return all
}

func (s *Set) awaitOthers(w *commit.SetWrite) commit.SetAnswer {
	w.Answers = make(chan commit.SetAnswer, 1)
	s.mu.Lock()
	if s.closedErr != nil {
		defer s.mu.Unlock()
		return commit.SetAnswer{Err: s.closedErr}
	}
	if w.Index < 0 || w.Index >= len(s.items) || s.items[w.Index].write != nil || s.items[w.Index].ended {
		defer s.mu.Unlock()
		return commit.SetAnswer{Err: fmt.Errorf("write %d of a change set of %d comes twice or not at all", w.Index, len(s.items))}
	}
	x := &s.items[w.Index]
	x.write, x.arrived, x.unchanged = w, true, w.Unchanged
	x.creates = x.creates || w.Before == nil && w.After != nil
	ready := s.takeReady()
	s.mu.Unlock()
	if ready != nil {
		s.decideSet(ready)
	}
	select {
	case a := <-w.Answers:
		return a
	case <-w.Ctx.Done():
	}
	s.Abandon(context.Cause(w.Ctx))
	return <-w.Answers // by Abandon, or by the decision, which has the same deadline
}

func (s *Set) decideSet(writes []*commit.SetWrite) {
	s.mu.Lock()
	commits := !s.refused
	s.mu.Unlock()

	b := &commit.Set{Committer: s.l.com, Writes: writes, Commits: commits, Requirements: s.requires}
	again, zone, serial, err := s.runSet(b)

	// If objects have changed (again), only their writes are answered, and the storage retries them. Otherwise the set
	// is closed.
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deciding, s.sent = false, b.Sent
	if err != nil && !commits {
		err = errSetEnded(err) // the refusals of other items are the reason
	}
	if commits && !again {
		s.failure = cmp.Or(err, b.RequirementErr)
	}
	refused := slices.ContainsFunc(writes, func(w *commit.SetWrite) bool { return w.Refusal != nil })
	if !again && (err != nil || b.RequirementErr != nil || refused || !commits) {
		s.closedErr = errSetEnded(cmp.Or(b.RequirementErr, errOthersRefused))
	}

	for _, w := range writes {
		var a commit.SetAnswer
		switch {
		case again && w.Out.Rev == 0:
			continue // keeps waiting
		case again:
			a.Out = w.Out
		case err != nil:
			a.Err = err
		case w.Refusal != nil:
			a.Err = w.Refusal
		case s.closedErr != nil:
			a.Err = s.closedErr
		default:
			a.Out, a.Result = commit.Outcome{OK: true, Rev: w.Out.Rev}, w.Result
		}
		s.items[w.Index].write = nil
		w.Answers <- a
	}
	if !again && s.closedErr == nil {
		s.zone, s.serial = zone, serial
		s.closedErr = errSetEnded(errors.New("it is committed already"))
	}
}

// runSet decides and commits the set. Only its calls may panic, so decideSet answers the writes in any case.
func (s *Set) runSet(b *commit.Set) (again bool, zone *v1alpha1.AdoptingZone, serial int64, err error) {
	defer s.l.com.Recover(b.Writes[0].Ctx, &b.Sent, &err)
	ctx := decisionContext(b.Writes)
	if again, err = b.Run(ctx); err != nil || again {
		return again, nil, 0, err
	}
	s.l.outbox.CountCuts(etcd.PaidBy(ctx, etcd.Payer{Namespace: b.Writes[0].Namespace(), Weight: 1}), b.PendingCuts)
	zone, serial = b.Zone()
	return false, zone, serial, nil
}

func decisionContext(writes []*commit.SetWrite) context.Context {
	first := writes[0].Ctx
	for _, w := range writes[1:] {
		at, ok := w.Ctx.Deadline()
		if least, has := first.Deadline(); ok && (!has || at.Before(least)) {
			first = w.Ctx
		}
	}
	return first
}
