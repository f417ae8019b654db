// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// Set is a change set: writes of several Records of a zone, committed in a common transaction or not at all. First the
// storage of each item (Item) keeps the item's write. Then Commit decides each write on the result of the earlier
// writes. A single goroutine uses a Set.
type Set struct {
	// Manager is the field manager of the request, for the history; "" counts as that of the items' fields.
	Manager string
	// DryRun makes Commit decide, and write nothing.
	DryRun bool

	l        *Ledger
	requires []records.Requirement // prerequisites
	items    []setItem
	refused  bool  // an item was refused, so Commit only looks for further refusals
	failure  error // of the whole set
	sent     bool  // the items may be committed, even after an error
	zone     *v1alpha1.AdoptingZone
	serial   int64 // of zone
}

type setItem struct {
	write   *commit.SetWrite // nil until the storage keeps it, and again if the object moves
	moved   bool             // the object has changed since it was read, so a cache may lag
	creates bool             // by Create, which refuses an existing object
	out     *v1alpha1.Record // the answer of the storage, complete after Commit
	refusal error
}

func (l *Ledger) NewSet(n int) *Set { return &Set{l: l, items: make([]setItem, n)} }

// Require sets prerequisites on the zone.
func (s *Set) Require(prerequisites []v1alpha1.ChangeSetPrerequisite) (err error) {
	s.requires, err = objects.ReadPrerequisites(prerequisites)
	return err
}

// InSet marks the context of an item, for EarlyRecord.
func (*Set) InSet(ctx context.Context) context.Context {
	return context.WithValue(ctx, inSetKey{}, true)
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

// Refuse notes that an item was refused before its write was kept: nothing is committed.
func (s *Set) Refuse() { s.refused = true }

// IsUnchanged reports whether the write of item i changes nothing, Deletes whether it deletes the Record.
func (s *Set) IsUnchanged(i int) bool { return s.items[i].write != nil && s.items[i].write.Unchanged }

func (s *Set) Deletes(i int) bool { return s.items[i].write != nil && s.items[i].write.After == nil }

// ItemErr returns the error of item i after Commit, nil if it was committed or Err is the error.
func (s *Set) ItemErr(i int) error { return s.items[i].refusal }

func (s *Set) Err() error { return s.failure }

// NothingWritten reports whether the set is certainly not written.
func (s *Set) NothingWritten() bool { return !s.sent }

func (s *Set) CommittedZone() (*v1alpha1.AdoptingZone, int64) { return s.zone, s.serial }

// Commit decides the writes, and commits them unless an item was refused. The result lists items whose objects have
// changed since they were read: the caller has their storages keep new writes, and calls Commit again.
func (s *Set) Commit() (moved []int) {
	// 1. Decide, and commit.
	b := &commit.Set{Committer: s.l.com, Commits: !s.refused, Requirements: s.requires}
	for i := range s.items {
		if w := s.items[i].write; w != nil {
			b.Writes = append(b.Writes, w)
		}
	}
	if len(b.Writes) == 0 {
		return nil
	}
	hasMoved, zone, serial, err := s.run(b)
	s.sent = b.Sent
	// 2. Find errors of the set, items to admit again, and refusals.
	switch {
	case err != nil && b.Commits:
		s.failure = err
		return nil
	case err != nil: // the refusals before Commit are the reason
		s.endWrites(err)
		return nil
	case hasMoved:
		// Each of these items is admitted again, by its new object.
		return s.listMoved()
	case b.RequirementErr != nil && b.Commits:
		s.failure = b.RequirementErr
		return nil
	}
	if s.refused = s.refused || slices.ContainsFunc(b.Writes, func(w *commit.SetWrite) bool { return w.Refusal != nil }); s.refused {
		s.endWrites(errOthersRefused)
		return nil
	}
	// 3. Complete the answers.
	s.zone, s.serial = zone, serial
	for i := range s.items {
		s.items[i].complete()
	}
	return nil
}

// listMoved refuses the creations of objects that exist by now, and lists the other items whose objects have changed.
func (s *Set) listMoved() (moved []int) {
	for i := range s.items {
		x := &s.items[i]
		if x.write == nil || x.write.Out.Rev == 0 {
			continue
		}
		if x.creates {
			// As for a single creation: 409, and no further try.
			x.refusal, s.refused = s.refuseExisting(x.write), true
		} else {
			moved = append(moved, i)
		}
		x.write, x.moved = nil, true
	}
	if len(moved) == 0 {
		return s.Commit()
	}
	return moved
}

// refuseExisting returns the error of a creation, as Kubernetes' registry words it.
func (s *Set) refuseExisting(w *commit.SetWrite) error {
	refusal, stored := apierrors.NewAlreadyExists(v1alpha1.Resource("records"), w.After.Name), &v1alpha1.Record{}
	// The registry adds this for objects that a finalizer keeps.
	if kv := w.Out.KV; kv != nil && s.l.mem.Records.Decode(w.Ctx, string(kv.Key), kv.Value, w.Out.Rev, stored) == nil &&
		stored.DeletionTimestamp != nil {
		refusal.ErrStatus.Message = "object is being deleted: " + refusal.ErrStatus.Message
	}
	return refusal
}

func (s *Set) endWrites(why error) {
	for i := range s.items {
		if x := &s.items[i]; x.write != nil {
			x.refusal = cmp.Or(x.write.Refusal, errSetEnded(why))
		}
	}
}

// complete gives the answer of the storage the status and version of the commit.
func (x *setItem) complete() {
	switch w := x.write; {
	case w.After == nil || w.Unchanged:
	case w.DryRun:
		version := x.out.ResourceVersion // a dry run has the version of the stored object
		*x.out = *cmp.Or(w.Result, w.After)
		x.out.ResourceVersion = version
	default:
		*x.out = *cmp.Or(w.Result, w.After)
		setVersion(x.out, w.Out.Rev)
	}
}

// run decides and commits. A panic of it is an error of the set.
func (s *Set) run(b *commit.Set) (hasMoved bool, zone *v1alpha1.AdoptingZone, serial int64, err error) {
	ctx := b.Writes[0].Ctx
	defer s.l.com.Recover(ctx, &b.Sent, &err)
	if hasMoved, err = b.Run(ctx); err != nil || hasMoved {
		return hasMoved, nil, 0, err
	}
	s.l.outbox.CountCuts(etcd.PaidBy(ctx, etcd.Payer{Namespace: b.Writes[0].Namespace(), Weight: 1}), b.Derivations)
	zone, serial = b.Zone()
	return false, zone, serial, nil
}
