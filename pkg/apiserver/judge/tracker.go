// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

const pageRecords = 128

const (
	// At most causeRecords Records get the cause of their Pending at once, then a page each causeInterval.
	causeRecords  = 26 * pageRecords
	causeInterval = 10 * time.Minute
	causeDelay    = 2 * time.Second
)

// tracker is the elected server's worklist, with the open Records (in no zone, or not Ready), and the Records whose
// stored Ready has become wrong. Other Records take no memory.
type tracker struct {
	mu sync.Mutex
	// zones has the Records by their zone's UID, or "" for no zone.
	zones map[string]*zone
	// openIn maps each open Record to the UID of its zone, or "".
	openIn map[law.Ref]string
}

func newTracker() tracker {
	return tracker{zones: map[string]*zone{}, openIn: map[law.Ref]string{}}
}

type zone struct {
	// progress is nil until processZone has judged the zone.
	progress *Progress
	// asked is the last request to raise the zone's serial.
	asked request
	open  map[law.Ref]*v1alpha1.Record
	// due has Records to judge and write. noCause has Pending Records whose cause is known but not written.
	due, noCause dueRecords
	// noCauseSince is when the next page of noCause began to wait.
	noCauseSince time.Time
	// causes limits writes of causes that the zone's owner ends, leader.causes those of the platform.
	causes *rate.Limiter
	// scans is true while all Ready Records are judged again, in pages. cursor is the next page.
	scans  bool
	cursor string
	// stallTimes is a heap of times at which open Records are judged again, nextTimes the earliest of each Record.
	stallTimes waits
	nextTimes  map[law.Ref]time.Time
}

// dueRecords is a queue of a zone's Records whose status must be written. A page has up to pageRecords Records of a
// namespace, and namespaces alternate, so a namespace with many Records delays no other.
type dueRecords struct {
	// fresh has Records not yet in a page.
	fresh map[law.Ref]bool
	pages map[string][][]law.Ref
	// turn has the namespaces of pages, the next first.
	turn []string
}

func newDueRecords() dueRecords {
	return dueRecords{fresh: map[law.Ref]bool{}, pages: map[string][][]law.Ref{}}
}

func (d *dueRecords) isEmpty() bool { return len(d.fresh)+len(d.pages) == 0 }

type waits []wait

type wait struct {
	at  time.Time
	ref law.Ref
}

func (w waits) Len() int           { return len(w) }
func (w waits) Less(i, j int) bool { return w[i].at.Before(w[j].at) }
func (w waits) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waits) Push(x any)        { *w = append(*w, x.(wait)) }

func (w *waits) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// The caller holds mu.
func (t *tracker) zoneOf(uid string) *zone {
	if t.zones[uid] == nil {
		t.zones[uid] = &zone{open: map[law.Ref]*v1alpha1.Record{}, due: newDueRecords(), noCause: newDueRecords(), causes: newCauseLimit(),
			nextTimes: map[law.Ref]time.Time{}}
	}
	return t.zones[uid]
}

// trimRecord returns a copy of a Record with the fields that judging reads. A new class may make a million Records
// open, so values and annotations are left out.
func trimRecord(record *v1alpha1.Record) *v1alpha1.Record {
	small := &v1alpha1.Record{
		ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Name, UID: record.UID, Generation: record.Generation},
		Spec:       v1alpha1.RecordSpec{Type: record.Spec.Type},
		Status: v1alpha1.RecordStatus{FQDN: record.Status.FQDN, ZoneRef: record.Status.ZoneRef, Serial: record.Status.Serial,
			LastDeliveryError: record.Status.LastDeliveryError, EndsAt: record.Status.EndsAt},
	}
	for _, condition := range record.Status.Conditions {
		if condition.Type == v1alpha1.ConditionReady || condition.Type == v1alpha1.ConditionStalled ||
			condition.Type == v1alpha1.ConditionAdopted && condition.Status != metav1.ConditionTrue {
			small.Status.Conditions = append(small.Status.Conditions, condition)
		}
	}
	return small
}

func refOf(record *v1alpha1.Record) law.Ref {
	return law.Ref{Namespace: record.Namespace, Name: record.Name}
}

func zoneUID(record *v1alpha1.Record) string {
	if of := record.Status.ZoneRef; of != nil {
		return string(of.UID)
	}
	return ""
}

func isOpen(record *v1alpha1.Record) bool {
	if record.Status.ZoneRef == nil {
		return true
	}
	of := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady)
	return of == nil || of.Status != metav1.ConditionTrue || of.ObservedGeneration < record.Generation
}

// resetTracker forgets all Records, before the watch lists them again, and judges each zone from the caches. The last
// change of each class is kept for the metric of lags.
func (l *leader) resetTracker() {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.zones
	l.zones, l.openIn = map[string]*zone{}, map[law.Ref]string{}
	l.unconfirmed.Set(0)
	l.tally.reset()
	for _, one := range l.index.AllZones() {
		// A pending zone has no Records, and processZone judges it without a Progress.
		if one.Status.Serial != 0 {
			f, uid := l.readFacts(one), string(one.UID)
			s := ProgressOf(f)
			s.Follow(nil)
			var last *Progress
			if z := before[uid]; z != nil {
				last = z.progress
			}
			s.lags, s.settlements = f.findLags(last)
			l.zoneOf(uid).progress = s
		}
	}
}

type change struct {
	record         *v1alpha1.Record
	deleted, reset bool
}

// followRecords appends watch events of Records to l.changes, and returns the resourceVersion to continue from, or ""
// to list all again. It never waits for the tracker, because the watch cache closes slow watches.
func (l *leader) followRecords(ctx context.Context, since string) (string, error) {
	events, err := l.config.WatchRecords(ctx, since)
	if err != nil {
		return "", err
	}
	defer events.Stop()
	// The list that follows may lack Records deleted meanwhile, so the tracker begins empty.
	if since == "" {
		l.changes.add(change{reset: true})
	}
	for {
		select {
		case <-ctx.Done():
			return since, nil
		case event, ok := <-events.ResultChan():
			if !ok {
				return since, nil
			}
			// A Status, for example 410 Expired: the versions after since are compacted, so list again.
			record, isRecord := event.Object.(*v1alpha1.Record)
			if !isRecord {
				return "", fmt.Errorf("%s: %v", event.Type, event.Object)
			}
			if event.Type != watch.Bookmark {
				l.changes.add(change{record: record, deleted: event.Type == watch.Deleted})
			}
			// Initial events are in the order of keys, not of versions. A watch can continue only after the last.
			isLastInitial := event.Type == watch.Bookmark && record.Annotations[metav1.InitialEventsAnnotationKey] == "true"
			if since != "" || isLastInitial {
				since = record.ResourceVersion
			}
		}
	}
}

type changes struct {
	mu    sync.Mutex
	list  []change
	added chan struct{}
}

// add appends a change with a trimmed copy of the Record for takeChanges, and never blocks.
func (c *changes) add(one change) {
	if one.record != nil {
		one.record = trimRecord(one.record)
	}
	c.mu.Lock()
	c.list = append(c.list, one)
	c.mu.Unlock()
	select {
	case c.added <- struct{}{}:
	default:
	}
}

// takeChanges brings watched Records into the tracker, in the order of their events, until ctx ends.
func (l *leader) takeChanges(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.changes.added:
		}
		l.changes.mu.Lock()
		// Take the whole list, so that the watch appends to a new list while this list is judged.
		list := l.changes.list
		l.changes.list = nil
		l.changes.mu.Unlock()
		for _, one := range list {
			if one.reset {
				l.resetTracker()
			} else {
				l.trackRecord(one.record, one.deleted)
			}
		}
	}
}

// trackRecord brings a Record's new version into the tracker, and queues its zone if the stored conditions differ from
// the judgement.
func (l *leader) trackRecord(record *v1alpha1.Record, deleted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ref, uid := refOf(record), zoneUID(record)
	// 1. Take a Record that is Ready now, has moved or is deleted out of the zone where it was open.
	if at, was := l.openIn[ref]; was && (deleted || at != uid || !isOpen(record)) {
		delete(l.zones[at].open, ref)
		delete(l.zones[at].due.fresh, ref)
		delete(l.zones[at].noCause.fresh, ref)
		delete(l.openIn, ref)
		if at != "" {
			l.unconfirmed.Dec()
		}
		// A zone that was removed is forgotten with its last open Record.
		if z := l.zones[at]; z.progress == nil && len(z.open) == 0 {
			delete(l.zones, at)
		}
	}
	// 2. Count the Record.
	if deleted {
		l.stalls.Forget(record.UID)
		l.tally.setRecord(ref, waiting{})
		return
	}
	l.tally.setRecord(ref, waitingOf(record, isOpen(record)))
	z := l.zoneOf(uid)
	// 3. Keep an open Record, and queue the zone.
	if isOpen(record) {
		if _, was := l.openIn[ref]; !was && uid != "" {
			l.unconfirmed.Inc()
		}
		z.open[ref], l.openIn[ref] = record, uid
	}
	if uid != "" && z.progress == nil { // processZone will judge all Records
		l.queue.Add(uid)
		return
	}
	if l.markDue(uid, z, record) {
		l.queue.Add(uid)
	}
}

// The caller holds mu.
func (l *leader) markDue(uid string, z *zone, record *v1alpha1.Record) (marked bool) {
	v, differs := l.judgeRecord(uid, z, record)
	switch {
	case !differs:
	case v.addsCauseOnly(record):
		z.noCause.fresh[refOf(record)] = true
	default:
		z.due.fresh[refOf(record)] = true
	}
	return differs
}

type verdict struct {
	ready     Judgement
	lastError string
	stalled   *metav1.Condition
	inZone    bool // otherwise ready and lastError are not written
}

// judgeRecord returns the conditions that a Record should have, and whether the stored ones differ. The zone is queued
// for the time at which the judgement may change. The caller holds mu.
func (l *leader) judgeRecord(uid string, z *zone, record *v1alpha1.Record) (v verdict, differs bool) {
	conditions := record.Status.Conditions
	again := func(in time.Duration) { l.judgeAgain(uid, z, refOf(record), in) }
	if uid == "" {
		// The ledger writes Ready of a Record in no zone.
		v.stalled = l.stalls.Judge(&record.ObjectMeta, conditions, objects.FirstFalse(conditions, v1alpha1.ConditionAdopted), again)
		return v, !objects.SameStall(conditions, v.stalled)
	}
	// A Ready Record with a later serial than the zone's facts was confirmed by facts that are not in the caches yet.
	if z.progress == nil || !isOpen(record) && !z.progress.HasSerialOf(record) {
		return v, false
	}

	var ok bool
	if v.ready, v.lastError, ok = z.progress.Judge(record); !ok {
		return v, false
	}

	v.inZone = true
	// A Pending without a cause gets AwaitsClass after AwaitAfter.
	if v.ready.Reason == v1alpha1.ReasonPending && v.ready.Status == metav1.ConditionUnknown {
		again(untilAwait(objects.ReadyOf(conditions), z.progress.since))
	}
	v.stalled = l.stalls.Judge(&record.ObjectMeta, conditions, v.ready.AsCondition(), again)
	return v, !v.isStored(record)
}

// judgeAgain queues a Record for a judgement after a time, unless an earlier time is set. The caller holds mu.
func (l *leader) judgeAgain(uid string, z *zone, ref law.Ref, in time.Duration) {
	// A Record that waits for Stalled, in two minutes, may be Pending by now, and gets a cause in 40 seconds.
	due := wait{time.Now().Add(in), ref}
	if next, isSet := z.nextTimes[ref]; isSet && !due.at.Before(next) {
		return
	}
	z.nextTimes[ref] = due.at
	heap.Push(&z.stallTimes, due)
	l.queue.AddAfter(uid, in)
}

// isStored reports whether a Record in a zone has the conditions and the error of the verdict.
func (v *verdict) isStored(record *v1alpha1.Record) bool {
	stored, generation := storedReady(record.Status.Conditions)
	// The message of a Ready or Pending may be older: a new message alone would cost a write of each Record of a zone.
	if v.ready.Status == metav1.ConditionTrue || v.ready.Reason == v1alpha1.ReasonPending {
		stored.Message = v.ready.Message
	}
	return stored == v.ready && generation == record.Generation && record.Status.LastDeliveryError == v.lastError &&
		objects.SameStall(record.Status.Conditions, v.stalled)
}

// storedReady returns the condition Ready, or the zero Judgement, and its generation.
func storedReady(conditions []metav1.Condition) (of Judgement, generation int64) {
	ready := cmp.Or(objects.ReadyOf(conditions), &metav1.Condition{})
	return Judgement{ready.Status, ready.Reason, ready.Message}, ready.ObservedGeneration
}

// addsCauseOnly reports whether the write would only explain a Pending of the same generation. Such writes come last,
// and have a limit of their own.
func (v *verdict) addsCauseOnly(record *v1alpha1.Record) bool {
	before := objects.ReadyOf(record.Status.Conditions)
	return before != nil && before.Reason == v1alpha1.ReasonPending && before.ObservedGeneration == record.Generation &&
		v.inZone && IsCause(v.ready.AsCondition()) && v.lastError == record.Status.LastDeliveryError
}

func newCauseLimit() *rate.Limiter {
	return rate.NewLimiter(rate.Every(causeInterval/pageRecords), causeRecords)
}

// request asks the ledger to raise a zone's serial for a secondary that would not transfer the zone otherwise: its
// serial is ahead of the zone's, or equal although its data differs (S6.11).
type request struct {
	zones.Ahead
	at time.Time
}
