// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// patches of one zone under way at a time.
const patches = 8

// massRate is how many Records a second are written for another reason than their own change: a class that is gone,
// moved or out of reach may concern all Records of a zone. At 1 to 2 KB a write that is a sixth of what a namespace
// may write (S9.2). wrongRate is how many a second are written that are said to be Ready and are not, which programs
// act on: most of what a namespace may write, beside the minute's worth that it has at once. massBurst are written at
// once, and in one run for a zone: the next run sees what became of the zone meanwhile.
const (
	massRate  = 200
	wrongRate = 1000
	massBurst = 1000
)

// recordSync writes what Records say of their delivery.
type recordSync struct {
	*shared
	// mass and wrong bound what is told to many Records (massRate, wrongRate).
	mass, wrong *rate.Limiter

	mu sync.Mutex
	// standings are those that Records were told last, by their zone's UID; untold are the zones of which not all
	// Records were told.
	standings map[string]*standing
	untold    map[string]bool
	// written are the last writes of Records' Ready, made or under way, of which the informer has not told yet.
	written map[types.UID]written
}

// saying is what is to be written into the status of a Record.
type saying struct {
	record    *v1alpha1.Record
	judgement judgement
	lastError string
	stalled   *metav1.Condition
}

// before is the Ready that stands there.
func (s *saying) before() *metav1.Condition { return readyOf(s.record.Status.Conditions) }

// wrong reports whether the Record is said to be Ready and is not.
func (s *saying) wrong() bool {
	before := s.before()
	return before != nil && before.Status == metav1.ConditionTrue && s.judgement.status != metav1.ConditionTrue
}

// answers reports whether the content write of the Record waits for it, which is so once for each write. Without a
// class that write said it already, or the whole zone waited.
func (s *saying) answers() bool {
	before := s.before()
	return before != nil && before.Reason == v1alpha1.ReasonPending && s.judgement.reason == v1alpha1.ReasonDelivered
}

// syncRecords tells the Records of a zone what its standing makes of them: all where one may be Ready no more, or for
// another reason, else those that are not Ready. The rest, beyond the rates, is left to the next second.
func (r *recordSync) syncRecords(ctx context.Context, zone *v1alpha1.Zone, s *standing) error {
	uid := string(zone.UID)
	r.mu.Lock()
	before := r.standings[uid]
	every := before == nil || r.untold[uid] || s.takesBack(before)
	r.standings[uid], r.untold[uid] = s, every
	r.mu.Unlock()
	by := byUID
	if every {
		by = byZone
	}
	var all []saying
	for _, record := range find[*v1alpha1.Record](r.index.records, by, uid) {
		if say, is := r.findSaying(record, s); is {
			all = append(all, say)
		}
	}
	told, left, err := r.writeSayings(ctx, all)
	switch {
	case told == massBurst:
		r.queue.Add(task{zoneTask, zone.Namespace, zone.Name})
	case left:
		r.queue.AddAfter(task{zoneTask, zone.Namespace, zone.Name}, time.Second)
	case err == nil:
		r.mu.Lock()
		delete(r.untold, uid)
		r.mu.Unlock()
	}
	return err
}

// findSaying is what a Record is to be told by the standing of its zone; false where it says that already.
func (r *recordSync) findSaying(record *v1alpha1.Record, s *standing) (saying, bool) {
	j, lastError, known := judgeRecord(record, s)
	if !known {
		return saying{}, false
	}
	stalled := r.stalls.judgeStalled(task{recordTask, record.Namespace, record.Name}, &record.ObjectMeta, record.Status.Conditions,
		j.condition())
	say := saying{record, j, lastError, stalled}
	before := say.before()
	if before != nil && before.Status == j.status && before.Reason == j.reason && before.ObservedGeneration == record.Generation &&
		(before.Message == j.message || j.status != metav1.ConditionFalse) && record.Status.LastDeliveryError == lastError &&
		sameStall(record.Status.Conditions, stalled) {
		return saying{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return say, !r.isWritten(say)
}

// writeSayings writes what the rates allow: first to Records that are said to be Ready and are not, then to those that
// changed last, which their writers wait for. Each is tried, also after an error, except where the budget of its
// namespace is used up. told counts what the rates bound; left: they did not allow all.
func (r *recordSync) writeSayings(ctx context.Context, all []saying) (told int, left bool, err error) {
	slices.SortFunc(all, func(one, other saying) int {
		if one.wrong() != other.wrong() {
			if one.wrong() {
				return -1
			}
			return 1
		}
		return cmp.Compare(other.record.Status.Serial, one.record.Status.Serial)
	})
	var group errgroup.Group
	group.SetLimit(patches)
	var without busy
	for _, say := range all {
		if without.has(say.record.Namespace) {
			continue // the error of the first has all of them tried again
		}
		if !say.answers() {
			if told == massBurst || !r.limit(say).Allow() {
				left = true
				continue
			}
			told++
		}
		group.Go(func() error {
			err := r.writeSaying(ctx, say)
			without.note(say.record.Namespace, err)
			return err
		})
	}
	return told, left, group.Wait()
}

// syncRecord tells one Record what the standing of its zone makes of it.
func (r *recordSync) syncRecord(ctx context.Context, namespace, name string) error {
	record := r.index.recordByName(namespace, name)
	if record == nil {
		return nil
	}
	ref := record.Status.ZoneRef
	if ref == nil {
		return r.syncUnadopted(ctx, record)
	}
	r.mu.Lock()
	s, isTold := r.standings[string(ref.UID)], r.untold[string(ref.UID)]
	r.mu.Unlock()
	if s == nil {
		r.queue.Add(task{zoneTask, ref.Namespace, ref.Name})
		return nil
	}
	say, is := r.findSaying(record, s)
	if !is {
		return nil
	}
	switch {
	case say.answers():
	case isTold: // With all of its zone, those that are wrong first.
		return nil
	case !r.limit(say).Allow():
		r.queue.AddAfter(task{recordTask, namespace, name}, time.Second)
		return nil
	}
	return r.writeSaying(ctx, say)
}

// syncUnadopted says of a Record that no zone has taken in whether it waits for a person. Its Ready is the server's.
func (r *recordSync) syncUnadopted(ctx context.Context, record *v1alpha1.Record) error {
	conditions := record.Status.Conditions
	stalled := r.stalls.judgeStalled(task{recordTask, record.Namespace, record.Name}, &record.ObjectMeta, conditions,
		firstFalse(conditions, v1alpha1.ConditionAdopted))
	if sameStall(conditions, stalled) {
		return nil
	}
	if !r.mass.Allow() {
		r.queue.AddAfter(task{recordTask, record.Namespace, record.Name}, time.Second)
		return nil
	}
	return r.status.writeUnadopted(ctx, record, stalled)
}

// limit bounds how many Records are told such a thing.
func (r *recordSync) limit(say saying) *rate.Limiter {
	if say.wrong() {
		return r.wrong
	}
	return r.mass
}

func (r *recordSync) writeSaying(ctx context.Context, say saying) error {
	if !r.noteWriting(say) {
		return nil
	}
	record := say.record
	err := r.status.writeRecord(ctx, readyPatch{of: record.ObjectMeta, serial: record.Status.Serial, before: record.Status.Conditions,
		judgement: say.judgement, stalled: say.stalled}, say.lastError)
	if err != nil {
		r.forgetWriting(say)
		return err
	}
	return nil
}

// isWritten reports whether it is written already, or is being written by another worker, and its own event is on the
// way. A serial that was confirmed meanwhile is no reason to write once more (S6.13). The caller holds mu.
func (r *recordSync) isWritten(say saying) bool {
	last, ok := r.written[say.record.UID]
	return ok && last.from == say.record.ResourceVersion && last.stalled == (say.stalled != nil) &&
		(last.judgement == say.judgement || last.status == metav1.ConditionTrue && say.judgement.status == metav1.ConditionTrue)
}

// noteWriting keeps a write before it is made, so that of the workers of a Zone and of its Record one writes, and is
// false where another one does. A write is not kept where the informer has told of the Record since: it would be kept
// for ever.
func (r *recordSync) noteWriting(say saying) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isWritten(say) {
		return false
	}
	now := r.index.recordByName(say.record.Namespace, say.record.Name)
	if now != nil && now.ResourceVersion == say.record.ResourceVersion {
		r.written[say.record.UID] = written{say.record.ResourceVersion, say.judgement, say.stalled != nil}
	}
	return true
}

// forgetWriting is for a write that failed: it is to be tried again.
func (r *recordSync) forgetWriting(say saying) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written[say.record.UID].from == say.record.ResourceVersion {
		delete(r.written, say.record.UID)
	}
}

// recordChanged enqueues a Record that could be Ready already, since its zone may have been delivered before the
// informer told of it.
func (r *recordSync) recordChanged(record *v1alpha1.Record, removed bool) {
	r.mu.Lock()
	if last, known := r.written[record.UID]; known && (removed || last.from != record.ResourceVersion) {
		delete(r.written, record.UID)
	}
	r.mu.Unlock()
	if removed {
		r.stalls.forget(record.UID)
		return
	}
	if isPending(record) || record.Status.ZoneRef == nil || stalledOf(record.Status.Conditions) != nil {
		r.queue.Add(task{recordTask, record.Namespace, record.Name})
	}
}

// forgetZone is for a zone that is gone.
func (r *recordSync) forgetZone(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.standings, uid)
	delete(r.untold, uid)
}
