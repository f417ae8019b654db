// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
)

const (
	// patchType merges conditions by their type and finalizers by their value, so that no two writers undo each other.
	patchType = types.StrategicMergePatchType
	// patches of one zone under way at a time.
	patches = 8
	// maxMessage is what validation allows.
	maxMessage = 1024
	// maxZoneMessage is what a Zone keeps of it, to stay small beside its spec (S6.7); a Delivery has all of it.
	maxZoneMessage = 300
)

// massRate is how many Records a second are told of what is not an answer to their own change: a class that is gone,
// moved or out of reach may concern all Records of a zone. At 1 to 2 KB a write that is a sixth of what a namespace
// may write (S9.2). wrongRate is how many are told that are said to be Ready and are not, which programs act on: most
// of what a namespace may write, beside the minute's worth that it has at once. massBurst are told at once, and in
// one look at a zone: the next one sees what became of it meanwhile.
const (
	massRate  = 200
	wrongRate = 1000
	massBurst = 1000
)

// saying is what a Record is to be told.
type saying struct {
	record    *v1alpha1.Record
	judgement judgement
	lastError string
	stalled   *metav1.Condition
}

// before is the Ready that stands there.
func (s *saying) before() *metav1.Condition {
	return meta.FindStatusCondition(s.record.Status.Conditions, v1alpha1.ConditionReady)
}

// wrong: it is said to be Ready and is not.
func (s *saying) wrong() bool {
	before := s.before()
	return before != nil && before.Status == metav1.ConditionTrue && s.judgement.status != metav1.ConditionTrue
}

// answers: it is what the content write of the Record waits for, of which there is one for each. Without a class that
// write said it already, or the whole zone waited.
func (s *saying) answers() bool {
	before := s.before()
	return before != nil && before.Reason == v1alpha1.ReasonPending && s.judgement.reason == v1alpha1.ReasonDelivered
}

// toSay is what a Record is to be told by the standing of its zone; false where it says that already.
func (c *Controller) toSay(record *v1alpha1.Record, s *standing) (saying, bool) {
	j, text, known := recordJudgement(record, s)
	if !known {
		return saying{}, false
	}
	stalled, in := c.stall(&record.ObjectMeta, record.Status.Conditions, waitsBy(j))
	if in > 0 {
		c.queue.AddAfter(task{recordTask, record.Namespace, record.Name}, in)
	}
	say := saying{record, j, text, stalled}
	before := say.before()
	if before != nil && before.Status == j.status && before.Reason == j.reason && before.ObservedGeneration == record.Generation &&
		(before.Message == j.message || j.status != metav1.ConditionFalse) && record.Status.LastDeliveryError == text && sameStall(record.Status.Conditions, stalled) {
		return saying{}, false
	}
	return say, !c.isReadied(record, j, stalled != nil)
}

// syncRecords says of the Records of a zone what its standing makes of them: of all where one may be Ready no more,
// or for another reason, else of those that are not Ready. All of them are tried, also after an error, but no others
// of a namespace whose budget is used up. What massRate does not allow is left to the next second.
func (c *Controller) syncRecords(ctx context.Context, zone *v1alpha1.Zone, force inForce) error {
	s, uid := c.standing(zone, force), string(zone.UID)
	c.mu.Lock()
	before := c.standings[uid]
	every := before == nil || c.unsaid[uid] || s.takesBack(before)
	c.standings[uid], c.unsaid[uid] = s, every
	c.mu.Unlock()
	index := byUID
	if every {
		index = byZone
	}
	found, err := c.records.GetIndexer().ByIndex(index, uid)
	if err != nil {
		return err
	}
	var all []saying
	for _, object := range found {
		if say, is := c.toSay(object.(*v1alpha1.Record), s); is {
			all = append(all, say)
		}
	}
	// Should there be many, those that are wrong come first, and then those that changed last: their writers wait for
	// them.
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
	left, told := false, 0
	var without busy
	for _, say := range all {
		if without.is(say.record.Namespace) {
			continue // the error of the first has all looked at again
		}
		if !say.answers() {
			if told == massBurst || !c.limit(say).Allow() {
				left = true
				continue
			}
			told++
		}
		group.Go(func() error {
			err := c.say(ctx, say)
			without.note(say.record.Namespace, err)
			return err
		})
	}
	err = group.Wait()
	switch {
	case told == massBurst:
		c.queue.Add(task{zoneTask, zone.Namespace, zone.Name})
	case left:
		c.queue.AddAfter(task{zoneTask, zone.Namespace, zone.Name}, time.Second)
	case err == nil:
		c.mu.Lock()
		delete(c.unsaid, uid)
		c.mu.Unlock()
	}
	return err
}

// syncRecord says of one Record what the standing of its zone makes of it.
func (c *Controller) syncRecord(ctx context.Context, namespace, name string) error {
	object, ok, err := c.records.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !ok {
		return err
	}
	record := object.(*v1alpha1.Record)
	ref := record.Status.ZoneRef
	if ref == nil {
		return c.syncUnadopted(ctx, record)
	}
	c.mu.Lock()
	s, isTold := c.standings[string(ref.UID)], c.unsaid[string(ref.UID)]
	c.mu.Unlock()
	if s == nil {
		c.queue.Add(task{zoneTask, ref.Namespace, ref.Name})
		return nil
	}
	say, is := c.toSay(record, s)
	if !is {
		return nil
	}
	switch {
	case say.answers():
	case isTold: // With all of its zone, those that are wrong first.
		return nil
	case !c.limit(say).Allow():
		c.queue.AddAfter(task{recordTask, namespace, name}, time.Second)
		return nil
	}
	return c.say(ctx, say)
}

// limit bounds how many Records are told such a thing.
func (c *Controller) limit(say saying) *rate.Limiter {
	if say.wrong() {
		return c.wrong
	}
	return c.mass
}

func (c *Controller) say(ctx context.Context, say saying) error {
	record, before := say.record, say.before()
	err := c.patchReady(ctx, statusOf{
		uid: record.UID, serial: record.Status.Serial, generation: record.Generation, before: before, judgement: say.judgement, record: true, lastError: say.lastError,
		stalled: stallPatch(record.Status.Conditions, say.stalled),
	}, func(ctx context.Context, patch []byte, options metav1.PatchOptions) error {
		_, err := c.store.client.Records(record.Namespace).Patch(ctx, record.Name, patchType, patch, options, "status")
		return err
	})
	if err == nil {
		c.noteReadied(record, say.judgement, say.stalled != nil)
		if say.lastError != "" || record.Status.LastDeliveryError != "" { // what holds up the whole class is told of the Zone
			c.announceRecord(record, before, say.judgement)
		}
	}
	return err
}

// isReadied: it is written already, and its own event is on the way; a serial that was confirmed meanwhile is no
// reason to write once more (S6.7).
func (c *Controller) isReadied(record *v1alpha1.Record, j judgement, stalled bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.readied[record.UID]
	return ok && last.from == record.ResourceVersion && last.stalled == stalled && (last.judgement == j || last.status == metav1.ConditionTrue && j.status == metav1.ConditionTrue)
}

// noteReadied is not for a Record that the informer has told of since: it would be kept for ever.
func (c *Controller) noteReadied(record *v1alpha1.Record, j judgement, stalled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, ok, err := c.records.GetStore().GetByKey(record.Namespace + "/" + record.Name)
	if err == nil && ok && now.(*v1alpha1.Record).ResourceVersion == record.ResourceVersion {
		c.readied[record.UID] = patched{record.ResourceVersion, j, stalled}
	}
}

// statusOf is a status to be written: of a Zone, or a Record.
type statusOf struct {
	uid                types.UID
	serial, generation int64
	before             *metav1.Condition
	judgement          judgement
	record             bool
	lastError          string
	// stalled is what of the conditions says Stalled (stallPatch).
	stalled []any
}

// patchReady writes a Ready that names the serial it speaks of: where the object is past it by now, the server drops it
// (S6.7). An object that is gone, or another one by now, needs none.
func (c *Controller) patchReady(ctx context.Context, of statusOf, write func(context.Context, []byte, metav1.PatchOptions) error) error {
	since := metav1.NewTime(time.Now())
	if of.before != nil && of.before.Status == of.judgement.status {
		since = of.before.LastTransitionTime
	}
	conditions := of.stalled
	if of.judgement.status != "" {
		conditions = append(conditions, metav1.Condition{
			Type: v1alpha1.ConditionReady, Status: of.judgement.status, Reason: of.judgement.reason, Message: of.judgement.message,
			ObservedGeneration: of.generation, LastTransitionTime: since,
		})
	}
	status := map[string]any{"serial": of.serial, "conditions": conditions}
	if of.record {
		status["lastDeliveryError"] = of.lastError
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": of.uid}, "status": status})
	if err != nil {
		return err
	}
	err = write(ctx, patch, metav1.PatchOptions{FieldManager: FieldManager})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func cut(text string) string { return shorten(text, maxMessage) }

func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[:limit-3]
	for len(text) > 0 && text[len(text)-1]&0xC0 == 0x80 {
		text = text[:len(text)-1]
	}
	if n := len(text); n > 0 && text[n-1] >= 0xC0 {
		text = text[:n-1]
	}
	return text + "..."
}
