// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
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

// standing is what all classes in force have of a zone.
type standing struct {
	// confirmed is the serial that all have; 0 for none.
	confirmed serial.Serial
	// owed are RRsets that one of them does not have as they were at confirmed; nil errors where it is not known why.
	owed map[delivery.RRsetKey]*delivery.Error
	// unlisted: more are owed than are listed.
	unlisted bool
}

func (c *Controller) standing(uid string, force inForce) standing {
	s := standing{owed: map[delivery.RRsetKey]*delivery.Error{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, name := range force.classes {
		key := delivery.Key{UID: uid, Class: name}
		state, ok := c.states[key]
		if !ok || state.Serial == 0 {
			return standing{}
		}
		if i == 0 || s.confirmed.Ahead(state.Serial) {
			s.confirmed = state.Serial
		}
		if state.Intent != nil && state.Intent.Holder == "" {
			s.unlisted = s.unlisted || state.Intent.Unlisted || len(state.Intent.RRsets) == 0
			for _, rrset := range state.Intent.RRsets {
				s.owed[rrset] = nil
			}
		}
	}
	for _, name := range force.classes {
		for rrset, err := range c.failures[delivery.Key{UID: uid, Class: name}] {
			told := *err
			told.Message = public(name, err.Reason, err.Message)
			s.owed[rrset] = &told
		}
	}
	return s
}

// recordJudgement is the Ready of a Record; false where there is nothing to say yet.
func recordJudgement(record *v1alpha1.Record, s standing) (judgement, string, bool) {
	taken := serial.Serial(record.Status.Serial)
	if s.confirmed == 0 || taken == 0 || taken != s.confirmed && !taken.Ahead(s.confirmed) && !s.confirmed.Ahead(taken) {
		return judgement{}, "", false
	}
	if taken.Ahead(s.confirmed) {
		return judgement{}, "", false
	}
	if key, err := rrsetOf(record); err == nil {
		failure, owed := s.owed[key]
		if failure != nil {
			return judgement{metav1.ConditionFalse, string(failure.Reason), cut(failure.Message)}, cut(failure.Error()), true
		}
		if owed {
			return judgement{}, "", false
		}
	}
	if s.unlisted {
		return judgement{}, "", false
	}
	return judgement{metav1.ConditionTrue, v1alpha1.ReasonDelivered, fmt.Sprintf("every class in force has confirmed serial %d", s.confirmed)}, "", true
}

func rrsetOf(record *v1alpha1.Record) (delivery.RRsetKey, error) {
	owner, err := name.Parse(record.Status.FQDN)
	if err != nil {
		return delivery.RRsetKey{}, err
	}
	t, err := rdata.ParseType(record.Spec.Type)
	return delivery.RRsetKey{Name: owner, Type: t}, err
}

// syncRecords says of the Records that are not Ready whether they are now. All of them are tried, also after an error.
func (c *Controller) syncRecords(ctx context.Context, zone *v1alpha1.Zone, force inForce) error {
	if len(force.classes) == 0 || force.wrong != nil {
		return nil
	}
	s := c.standing(string(zone.UID), force)
	if s.confirmed == 0 {
		return nil
	}
	pending, err := c.records.GetIndexer().ByIndex(byUID, string(zone.UID))
	if err != nil {
		return err
	}
	records := make([]*v1alpha1.Record, len(pending))
	for i := range pending {
		records[i] = pending[i].(*v1alpha1.Record)
	}
	// Should there be many, those that changed last are those that somebody waits for.
	slices.SortFunc(records, func(one, other *v1alpha1.Record) int { return int(other.Status.Serial - one.Status.Serial) })
	var group errgroup.Group
	group.SetLimit(patches)
	for _, record := range records {
		j, text, known := recordJudgement(record, s)
		before := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady)
		if !known || before != nil && before.Status == j.status && before.Reason == j.reason && before.Message == j.message && before.ObservedGeneration == record.Generation && record.Status.LastDeliveryError == text {
			continue
		}
		if c.isReadied(record, j) {
			continue
		}
		group.Go(func() error {
			err := c.patchReady(ctx, statusOf{
				uid: record.UID, serial: record.Status.Serial, generation: record.Generation, before: before, judgement: j, record: true, lastError: text,
			}, func(ctx context.Context, patch []byte, options metav1.PatchOptions) error {
				_, err := c.store.client.Records(record.Namespace).Patch(ctx, record.Name, patchType, patch, options, "status")
				return err
			})
			if err == nil {
				c.noteReadied(record, j)
				c.announceRecord(record, before, j)
			}
			return err
		})
	}
	return group.Wait()
}

// isReadied: it is written already, and its own event is on the way; a serial that was confirmed meanwhile is no reason to
// write once more (S6.7).
func (c *Controller) isReadied(record *v1alpha1.Record, j judgement) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.readied[record.UID]
	return ok && last.from == record.ResourceVersion && (last.judgement == j || last.status == metav1.ConditionTrue && j.status == metav1.ConditionTrue)
}

// noteReadied is not for a Record that the informer has told of since: it would be kept for ever.
func (c *Controller) noteReadied(record *v1alpha1.Record, j judgement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, ok, err := c.records.GetStore().GetByKey(record.Namespace + "/" + record.Name)
	if err == nil && ok && now.(*v1alpha1.Record).ResourceVersion == record.ResourceVersion {
		c.readied[record.UID] = patched{record.ResourceVersion, j}
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
}

// patchReady writes a Ready that names the serial it speaks of: where the object is past it by now, the server drops it
// (S6.7). An object that is gone, or another one by now, needs none.
func (c *Controller) patchReady(ctx context.Context, of statusOf, write func(context.Context, []byte, metav1.PatchOptions) error) error {
	since := metav1.NewTime(time.Now())
	if of.before != nil && of.before.Status == of.judgement.status {
		since = of.before.LastTransitionTime
	}
	status := map[string]any{"serial": of.serial, "conditions": []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: of.judgement.status, Reason: of.judgement.reason, Message: of.judgement.message,
		ObservedGeneration: of.generation, LastTransitionTime: since,
	}}}
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
