// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
)

const turnRecords = 1024

// processZone writes the conditions of a zone and of its Records. The UID is "" for Records in no zone.
func (l *leader) processZone(ctx context.Context, uid string) error {
	if uid == "" {
		return l.processRecords(ctx, uid, nil)
	}
	zone := l.index.ZoneByUID(uid)
	// The Zone is deleted. Its Records are released by the ledger, and come back in no zone or another.
	if zone == nil {
		l.stalls.Forget(types.UID(uid))
		l.dropZone(uid)
		return nil
	}
	l.mu.Lock()
	z := l.zoneOf(uid)
	before := z.progress
	l.mu.Unlock()

	f := l.readFacts(zone)
	// Compare with the last judgement, for the age of the last change and the lag of each class.
	now := ProgressOf(f)
	now.lags, now.settlements = f.findLags(before)
	f.LastChange = now.Follow(before)
	// asked needs no lock: the queue never gives a zone to two workers at once.
	failed := l.writeZone(ctx, f, &z.asked)
	if zone.Status.Serial == 0 { // a pending zone has no Records
		l.dropZone(uid)
		return failed
	}
	return errors.Join(failed, l.processRecords(ctx, uid, now))
}

// processRecords writes about turnRecords of the zone's Records, and queues the zone again if more are due. now is nil
// for Records in no zone.
func (l *leader) processRecords(ctx context.Context, uid string, now *Progress) error {
	// 1. Find Records with a wrong Ready.
	l.mu.Lock()
	z := l.zoneOf(uid)
	l.mu.Unlock()
	if err := l.findMissing(ctx, uid, z, now); err != nil {
		return err
	}
	l.mu.Lock()
	if now != nil {
		l.setProgress(uid, z, now)
	}
	l.judgeDue(uid, z)
	scans, cursor := z.scans, z.cursor
	l.mu.Unlock()

	left := false // a rate limit has stopped a page
	// 2. Write Ready Records, due Records, causes.
	if scans {
		var err error
		if left, err = l.scanPage(ctx, uid, z, cursor); err != nil {
			return err
		}
	}
	l.mu.Lock()
	chosen := z.choosePages(&z.due, turnRecords)
	l.mu.Unlock()
	for i, page := range chosen {
		some, err := l.writePage(ctx, uid, z, &z.due, page)
		left = left || some
		if err != nil {
			l.putBack(&z.due, chosen[i:])
			return err
		}
	}
	wait, err := l.writeCauses(ctx, uid, z)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// 3. Queue the zone again.
	switch {
	// Nothing is due now: come back for the next page of causes or the next Stalled.
	case z.due.isEmpty() && !z.scans && (z.noCause.isEmpty() || wait > 0):
		if len(z.stallTimes) > 0 && (wait == 0 || time.Until(z.stallTimes[0].at) < wait) { // the queue keeps a single time for each zone
			wait = time.Until(z.stallTimes[0].at)
		}
		if wait > 0 || len(z.stallTimes) > 0 {
			l.queue.AddAfter(uid, wait)
		}
	// A limit stopped a page, and has tokens again within a second.
	case left:
		l.queue.AddAfter(uid, time.Second)
	default:
		l.queue.Add(uid)
	}
	return nil
}

// writeCauses writes a page of causes, and returns the time until the next page may be written, 0 if none waits.
func (l *leader) writeCauses(ctx context.Context, uid string, z *zone) (wait time.Duration, err error) {
	page, wait := l.chooseNoCause(z)
	if page == nil {
		return wait, nil
	}
	left, err := l.writePage(ctx, uid, z, &z.noCause, page)
	if err != nil {
		l.putBack(&z.noCause, [][]law.Ref{page})
	}
	if left {
		wait = time.Second
	}
	return wait, err
}

// findMissing queues the Records whose data a server has lost. It reads them from the ledger, because the tracker has
// no Ready Records.
func (l *leader) findMissing(ctx context.Context, uid string, z *zone, now *Progress) error {
	if uid == "" || z.progress == nil {
		return nil
	}
	// The zone may have gone since this turn began.
	found := l.index.ZoneByUID(uid)
	if found == nil {
		return nil
	}
	apex, err := name.Parse(found.Status.FQDN)
	if err != nil {
		return nil
	}
	names, digests := now.NewlyMissing(z.progress)
	names = append(names, l.nameDigests(z, digests)...)
	slices.SortFunc(names, name.Name.Compare)
	// An A and an AAAA of www.example.org. may both be missing: read the Records at www once.
	for _, fqdn := range slices.Compact(names) {
		owner, within := fqdn.Rel(apex)
		if !within {
			continue
		}
		members, err := l.config.Ledger.MembersAt(ctx, uid, owner)
		if err != nil {
			return err
		}
		l.putBack(&z.due, [][]law.Ref{members})
	}
	return nil
}

// nameDigests returns the names of the RRsets of open Records. A hash of any other RRset may be any Ready Record's,
// so a scan judges all of them again. A tenant who adds refused Records starts no scan: a new Record is open.
func (l *leader) nameDigests(z *zone, digests map[uint64]bool) (names []name.Name) {
	if len(digests) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	unnamed := maps.Clone(digests)
	for _, record := range z.open {
		if key, err := keyOf(record); err == nil && digests[key.Digest()] {
			names = append(names, key.Name)
			delete(unnamed, key.Digest())
		}
	}
	if len(unnamed) > 0 {
		z.scans, z.cursor = true, ""
	}
	return names
}

// dropZone forgets a zone's judgement when the zone is deleted or pending. Open Records stay until their own events.
func (l *leader) dropZone(uid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	z := l.zones[uid]
	if z == nil {
		return
	}
	z.progress, z.scans = nil, false
	z.due, z.noCause = newDueRecords(), newDueRecords()
	if len(z.open) == 0 {
		delete(l.zones, uid)
	}
}

// setProgress stores a new judgement, and marks the Records whose conditions it changes: open Records at once, Ready
// Records by a scan if some may lose Ready. The caller holds mu.
func (l *leader) setProgress(uid string, z *zone, now *Progress) {
	// The first judgement differs from the zero Progress: it has classes, or the reason why none delivers.
	before := cmp.Or(z.progress, &Progress{})
	z.progress = now
	if now.RevokesReady(before) {
		z.scans, z.cursor = true, ""
	}
	if now.Same(before) {
		return
	}
	z.noCause = newDueRecords() // the cause may have changed
	for _, record := range z.open {
		l.markDue(uid, z, record)
	}
}

// judgeDue judges the Records whose time has come: a cause is due, or Stalled. The caller holds mu.
func (l *leader) judgeDue(uid string, z *zone) {
	for len(z.stallTimes) > 0 && !time.Now().Before(z.stallTimes[0].at) {
		due := heap.Pop(&z.stallTimes).(wait)
		// An earlier time was added later, and has come already.
		if z.nextTimes[due.ref] != due.at {
			continue
		}
		delete(z.nextTimes, due.ref)
		if record := z.open[due.ref]; record != nil {
			l.markDue(uid, z, record)
		}
	}
}

// choosePages takes pages of up to most Records from a queue, a page of each namespace in turn. The last page may
// exceed most. The caller holds mu.
func (z *zone) choosePages(from *dueRecords, most int) (chosen [][]law.Ref) {
	// 1. Group the fresh Records by namespace. A Record that is no longer open has serial 0 and comes last.
	by := map[string][]dueRecord{}
	for ref := range from.fresh {
		one := dueRecord{ref: ref}
		if record := z.open[ref]; record != nil {
			one.serial = record.Status.Serial
		}
		by[ref.Namespace] = append(by[ref.Namespace], one)
	}
	clear(from.fresh)

	// 2. Cut them into pages, the latest change first, because a user probably watches the outcome.
	for namespace, all := range by {
		slices.SortFunc(all, func(a, b dueRecord) int { return cmp.Compare(b.serial, a.serial) })
		var pages [][]law.Ref
		for page := range slices.Chunk(all, pageRecords) {
			refs := make([]law.Ref, len(page))
			for i, one := range page {
				refs[i] = one.ref
			}
			pages = append(pages, refs)
		}
		if from.pages[namespace] == nil {
			from.turn = append(from.turn, namespace)
		}
		from.pages[namespace] = append(pages, from.pages[namespace]...)
	}
	// 3. Take pages in turn. team-a with 50,000 Records and team-b with a single Record alternate.
	for n := 0; n < most && len(from.turn) > 0; {
		namespace := from.turn[0]
		from.turn = from.turn[1:]
		page := from.pages[namespace][0]
		if from.pages[namespace] = from.pages[namespace][1:]; len(from.pages[namespace]) == 0 {
			delete(from.pages, namespace)
		} else {
			from.turn = append(from.turn, namespace)
		}
		chosen, n = append(chosen, page), n+len(page)
	}
	return chosen
}

type dueRecord struct {
	ref    law.Ref
	serial int64
}

func (l *leader) putBack(to *dueRecords, pages [][]law.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, page := range pages {
		for _, ref := range page {
			to.fresh[ref] = true
		}
	}
}

// writePage judges a page of a namespace's Records as stored, and writes those whose conditions differ. left is true if
// the limit has stopped some, which are in the queue again.
func (l *leader) writePage(ctx context.Context, uid string, z *zone, of *dueRecords, page []law.Ref) (left bool, err error) {
	names := make([]string, len(page))
	for i, ref := range page {
		names[i] = ref.Name
	}
	written, err := l.config.Ledger.ChangeRecords(ctx, page[0].Namespace, names, func(record *v1alpha1.Record) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		// Judge again: the stored Record may have another serial, or another zone, than the tracker's.
		v, differs := l.judgeStored(uid, z, record)
		if !differs {
			return false
		}
		// A confirmation always passes. After the first refusal all others of the page wait too.
		if !v.confirmsChange(record) && (left || !l.limitOf(&v, record).Allow()) {
			of.fresh[refOf(record)], left = true, true
			return false
		}
		v.writeTo(record)
		return true
	})
	l.confirmed.Add(float64(written))
	return left, err
}

// scanPage judges the next page of all Records of a zone as stored, and writes those that are wrongly Ready. left is
// true if the limit has stopped the page, which is then read again.
func (l *leader) scanPage(ctx context.Context, uid string, z *zone, cursor string) (left bool, err error) {
	members, next, err := l.config.Ledger.Members(ctx, uid, cursor, turnRecords)
	if err != nil {
		return false, err
	}
	by := map[string][]string{}
	for _, ref := range members {
		by[ref.Namespace] = append(by[ref.Namespace], ref.Name)
	}
	// ChangeRecords takes Records of a single namespace.
	for _, namespace := range slices.Sorted(maps.Keys(by)) {
		written, err := l.config.Ledger.ChangeRecords(ctx, namespace, by[namespace], func(record *v1alpha1.Record) bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			if left || isOpen(record) { // an open Record is tracked
				return false
			}
			v, differs := l.judgeStored(uid, z, record)
			if !differs {
				return false
			}
			if !l.limitOf(&v, record).Allow() {
				left = true
				return false
			}
			v.writeTo(record)
			return true
		})
		l.confirmed.Add(float64(written))
		if err != nil || left {
			return left, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if z.scans && z.cursor == cursor && !left { // otherwise the scan or the page is repeated
		z.scans, z.cursor = next != "", next
	}
	return left, nil
}

// The caller holds mu.
func (l *leader) judgeStored(uid string, z *zone, record *v1alpha1.Record) (verdict, bool) {
	if zoneUID(record) != uid {
		return verdict{}, false
	}
	return l.judgeRecord(uid, z, record)
}

// limitOf returns the limit for a write to an unchanged Record. A Ready that is wrongly True misleads readers, so the
// revocation has the larger limit.
func (l *leader) limitOf(v *verdict, record *v1alpha1.Record) *rate.Limiter {
	if v.inZone && v.ready.Status != metav1.ConditionTrue &&
		meta.IsStatusConditionTrue(record.Status.Conditions, v1alpha1.ConditionReady) {
		return l.revokeLimit
	}
	return l.otherLimit
}

// confirmsChange reports whether the verdict is the first to confirm the last change. Such a write has no rate limit.
func (v *verdict) confirmsChange(record *v1alpha1.Record) bool {
	before := objects.ReadyOf(record.Status.Conditions)
	return before != nil && before.Status == metav1.ConditionUnknown && v.ready.Reason == v1alpha1.ReasonDelivered
}

func (v *verdict) writeTo(record *v1alpha1.Record) {
	conditions := &record.Status.Conditions
	if v.inZone {
		condition := *v.ready.AsCondition()
		condition.ObservedGeneration, condition.LastTransitionTime = record.Generation, metav1.Now()
		meta.SetStatusCondition(conditions, condition)
		record.Status.LastDeliveryError = v.lastError
	}
	setStalled(conditions, v.stalled)
}

// chooseNoCause returns the next page of Records to get the cause of their Pending, or the time to wait for a page. The
// limit is the zone's if its owner ends the cause, and otherwise that of all zones.
func (l *leader) chooseNoCause(z *zone) (page []law.Ref, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if z.noCause.isEmpty() {
		z.noCauseSince = time.Time{}
		return nil, 0
	}
	if z.noCauseSince.IsZero() {
		z.noCauseSince = time.Now()
	}
	// A short wait fills the page. Many causes end by themselves in these two seconds.
	if wait := causeDelay - time.Since(z.noCauseSince); wait > 0 && len(z.noCause.fresh) < pageRecords && len(z.noCause.pages) == 0 {
		return nil, wait
	}
	if l.otherLimit.Tokens() < pageRecords { // a page must not be split
		return nil, time.Second
	}

	limit := l.causes
	// A pause by the owner uses the zone's own limit: an owner who pauses 1,000 zones takes nothing from others.
	if z.progress != nil && !z.progress.IsHeldByPlatform() {
		limit = z.causes
	}
	page = z.choosePages(&z.noCause, 1)[0]
	if !limit.AllowN(time.Now(), len(page)) { // for now only the Zone has the cause
		for _, ref := range page {
			z.noCause.fresh[ref] = true
		}
		return nil, time.Minute
	}
	z.noCauseSince = time.Time{}
	return page, 0
}

func setStalled(conditions *[]metav1.Condition, stalled *metav1.Condition) {
	if stalled != nil {
		meta.SetStatusCondition(conditions, *stalled)
	} else {
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
	}
}
