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

// A change set is several writes of Records of one zone that are committed together or not at all (S10.1). Each write
// comes through the ordinary storage of Records, with what precedes it there (admission, preconditions, field
// managers), and waits at the point where it would be committed until all have come. Then all are decided, each on
// what the earlier ones leave, and one transaction makes all of them true.
//
// No write holds a lock while it waits, so a set cannot keep others from being written, and two sets cannot wait for
// each other. The end of any one write's context ends the set.

// Set is a change set. Its methods may be called from any goroutine.
type Set struct {
	l        *Ledger
	requires []records.Requirement

	mu    sync.Mutex
	items []setItem
	// refused says that a write that left was refused, so nothing is committed.
	refused bool
	// failure is what is wrong with all of it.
	failure error
	// over says why nothing is committed any more; nil while the set is open.
	over error
	// deciding says that the waiting writes are being decided, and are answered after that; sent that they may be
	// committed, though the decision ended in an error.
	deciding, sent bool
	// zone and serial are those of the commit.
	zone   *v1alpha1.AdoptingZone
	serial int64
}

// setItem is a place in a set. left says that its write will not come again, came that the write has come once.
type setItem struct {
	waiting                        *commit.SetWrite // which has come and is not answered; nil: none
	left, came, creates, unchanged bool
	grows                          int64 // octets by which the write makes its object larger
}

// NewSet begins a change set of n writes of Records.
func (l *Ledger) NewSet(n int) *Set { return &Set{l: l, items: make([]setItem, n)} }

// Require says what the zone must be like before the writes (S10.5). It is called before any of them comes.
func (s *Set) Require(prerequisites []v1alpha1.ChangeSetPrerequisite) (err error) {
	s.requires, err = objects.ReadPrerequisites(prerequisites)
	return err
}

type setKey struct{}

type setPlace struct {
	set   *Set
	index int
}

// Context returns the context that makes a write through the storage of Records, or the preview of one, write i of
// the set.
func (s *Set) Context(ctx context.Context, i int) context.Context {
	return context.WithValue(ctx, setKey{}, setPlace{s, i})
}

// setOf returns the set and the index of a write under ctx, nil for none.
func setOf(ctx context.Context) (*Set, int) {
	p, _ := ctx.Value(setKey{}).(setPlace)
	return p.set, p.index
}

// GrowsBy returns by how many octets a write under ctx, and the others of its set so far, make what is stored larger:
// the namespace gets all of them or none.
func GrowsBy(ctx context.Context, octets int64) int64 {
	s, i := setOf(ctx)
	if s == nil {
		return octets
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items[i].grows = octets
	all := int64(0)
	for _, x := range s.items {
		all += x.grows
	}
	return all
}

// errSetEnded is the error of a write of a set that is not refused itself.
func errSetEnded(why error) error {
	return &setEndedError{why}
}

type setEndedError struct{ why error }

func (e *setEndedError) Error() string {
	return "not written, as the change set was not: " + e.why.Error()
}
func (e *setEndedError) Unwrap() error { return e.why }

// Status makes the error an API error that Kubernetes' handlers do not retry.
func (e *setEndedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusFailedDependency, Reason: v1alpha1.StatusReasonChangeSetEnded,
		Message: e.Error()}
}

// errOthersRefused is the error of a write that is not made because others are refused.
var errOthersRefused = errors.New("other items of it were refused")

// Leave says that write i will not come, or not again, because its request has ended; refused says whether with a
// refusal. A write that the set has answered may leave too.
func (s *Set) Leave(i int, refused bool) {
	s.mu.Lock()
	s.items[i].left = true
	s.refused = s.refused || refused
	ready := s.takeReady()
	s.mu.Unlock()
	if ready != nil {
		s.decideSet(ready)
	}
}

// Came reports whether write i came to the point where it would be committed.
func (s *Set) Came(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[i].came
}

// Unchanged reports whether write i changes nothing.
func (s *Set) Unchanged(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[i].unchanged
}

// Creates is the number of writes that came and create a Record.
func (s *Set) Creates() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.items {
		if x.creates {
			n++
		}
	}
	return n
}

// Failed is the error of the set as a whole; nil where there is none, or it is one of a write.
func (s *Set) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Unwritten reports whether nothing of the set is written for certain. It is asked when all writes have left.
func (s *Set) Unwritten() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.deciding && !s.sent
}

// Committed is the zone of the writes and its serial with them; nil where they were not committed.
func (s *Set) Committed() (*v1alpha1.AdoptingZone, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zone, s.serial
}

// Abandon ends the set: writes that wait, and those that come later, are answered with the cause. A transaction under
// way is not stopped.
func (s *Set) Abandon(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandonSet(cause)
}

func (s *Set) abandonSet(cause error) {
	if s.over != nil || s.deciding {
		return
	}
	s.over = errSetEnded(cause)
	for i := range s.items {
		if w := s.items[i].waiting; w != nil {
			w.Answered <- commit.SetAnswer{Err: s.over}
			s.items[i].waiting = nil
		}
	}
}

// takeReady takes the writes to be decided now; nil while some have yet to come. The caller holds s.mu.
func (s *Set) takeReady() (all []*commit.SetWrite) {
	if s.over != nil || s.deciding {
		return nil
	}
	for _, x := range s.items {
		switch {
		case x.waiting != nil:
			all = append(all, x.waiting)
		case !x.left:
			return nil
		}
	}
	s.deciding = len(all) > 0
	return all
}

// awaitOthers has a write wait for the others of the set, and returns what becomes of it.
func (s *Set) awaitOthers(w *commit.SetWrite) commit.SetAnswer {
	w.Answered = make(chan commit.SetAnswer, 1)
	s.mu.Lock()
	if s.over != nil {
		defer s.mu.Unlock()
		return commit.SetAnswer{Err: s.over}
	}
	if w.Index < 0 || w.Index >= len(s.items) || s.items[w.Index].waiting != nil || s.items[w.Index].left {
		defer s.mu.Unlock()
		return commit.SetAnswer{Err: fmt.Errorf("write %d of a change set of %d comes twice or not at all", w.Index, len(s.items))}
	}
	x := &s.items[w.Index]
	x.waiting, x.came, x.unchanged = w, true, w.Same
	x.creates = x.creates || w.Before == nil && w.After != nil
	ready := s.takeReady()
	s.mu.Unlock()
	if ready != nil {
		s.decideSet(ready)
	}
	select {
	case a := <-w.Answered:
		return a
	case <-w.Ctx.Done():
	}
	s.Abandon(context.Cause(w.Ctx))
	return <-w.Answered // by Abandon, or by the decision under way, which ends by the same deadline
}

// decideSet decides the writes that have come and answers them. Writes whose objects have changed meanwhile are told
// so, and come again.
func (s *Set) decideSet(writes []*commit.SetWrite) {
	s.mu.Lock()
	commits := !s.refused
	s.mu.Unlock()
	b := &commit.Set{Committer: s.l.com, Writes: writes, Commits: commits, Requires: s.requires}
	ctx := decisionContext(writes)
	again, err := b.Run(ctx)
	s.l.box.PayNow(etcd.PaidBy(ctx, etcd.Payer{Namespace: writes[0].Namespace(), Weight: 1}), b.Owed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deciding, s.sent = false, b.Sent
	if err != nil && !commits {
		err = errSetEnded(err) // nothing would have been written: the refusals of others are the answer
	}
	if commits && !again {
		s.failure = cmp.Or(err, b.Unmet)
	}
	refused := slices.ContainsFunc(writes, func(w *commit.SetWrite) bool { return w.Refusal != nil })
	if !again && (err != nil || b.Unmet != nil || refused || !commits) {
		s.over = errSetEnded(cmp.Or(b.Unmet, errOthersRefused))
	}
	for _, w := range writes {
		var a commit.SetAnswer
		switch {
		case again && w.Out.Rev == 0:
			continue // it waits on
		case again:
			a.Out = w.Out
		case err != nil:
			a.Err = err
		case w.Refusal != nil:
			a.Err = w.Refusal
		case s.over != nil:
			a.Err = s.over
		default:
			a.Out, a.Placed = commit.Outcome{OK: true, Rev: w.Out.Rev}, w.Placed
		}
		s.items[w.Index].waiting = nil
		w.Answered <- a
	}
	if !again && s.over == nil {
		s.zone, s.serial = b.Zone()
		s.over = errSetEnded(errors.New("it is committed already"))
	}
}

// decisionContext is the context of the write that ends first: the end of any write ends the set.
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
