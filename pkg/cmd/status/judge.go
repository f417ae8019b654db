// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Overview is the state of an installation, or of some namespaces.
type Overview struct {
	// Time is that of the reading.
	Time metav1.Time `json:"time"`
	// Namespaces are those that were read; empty for all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Zones is the number of zones that were read.
	Zones int64 `json:"zones"`
	// NotCurrent are the zones that are not Ready in their present generation, the oldest first.
	NotCurrent []Item `json:"notCurrent"`
	// OldestUnconfirmed is the zone or Record with content that waits longest to be confirmed by its classes.
	OldestUnconfirmed *Item  `json:"oldestUnconfirmed,omitempty"`
	Held              []Item `json:"held,omitempty"`
	Paused            []Item `json:"paused,omitempty"`
	Withdrawn         []Item `json:"withdrawn,omitempty"`
	// Refused are updates, challenges and names of external-dns that were refused in the last hour.
	Refused []Item `json:"refused,omitempty"`
	// Records counts those that are not Ready, by reason.
	Records []RecordCount `json:"records,omitempty"`
	// Installation is absent without the right to get it.
	Installation *v1alpha1.InstallationStatus `json:"installation,omitempty"`
	// Unread are lists and objects that could not be read.
	Unread []Unread `json:"unread,omitempty"`

	zonesRead bool
}

// Item is an object that a person may have to look at.
type Item struct {
	Kind      string       `json:"kind"`
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name"`
	FQDN      string       `json:"fqdn,omitempty"`
	View      string       `json:"view,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Message   string       `json:"message,omitempty"`
	Since     *metav1.Time `json:"since,omitempty"`
	Until     *metav1.Time `json:"until,omitempty"`
}

// RecordCount is the number of Records that are not Ready for a reason.
type RecordCount struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
	// Oldest is the Record that waits longest.
	Oldest Item `json:"oldest"`
}

// Unread is a list or an object that could not be read.
type Unread struct {
	Verb      string `json:"verb"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Forbidden bool   `json:"forbidden"`
	Reason    string `json:"reason"`
}

func (i *Item) describeObject() string {
	if i.Namespace == "" {
		return i.Name
	}
	return i.Namespace + "/" + i.Name
}

// known returns nil for an unknown time.
func known(at metav1.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func (f *reading) addZone(zone *v1alpha1.Zone) {
	f.Zones++
	item := Item{Kind: "Zone", Namespace: zone.Namespace, Name: zone.Name, FQDN: cmp.Or(zone.Status.FQDN, zone.Spec.DomainName),
		View: zone.Status.View}
	with := func(of *metav1.Condition) Item {
		item := item
		item.Reason, item.Message, item.Since = of.Reason, of.Message, known(of.LastTransitionTime)
		return item
	}
	ready := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case zone.DeletionTimestamp != nil:
		gone := item
		gone.Reason, gone.Message, gone.Since = v1alpha1.ReasonTerminating, "it is deleted when its servers no longer have it",
			zone.DeletionTimestamp
		f.NotCurrent = append(f.NotCurrent, gone)
	case ready == nil:
		late := item
		late.Reason, late.Message, late.Since = v1alpha1.ReasonPending, "no controller has judged it yet", known(zone.CreationTimestamp)
		f.NotCurrent = append(f.NotCurrent, late)
	case ready.Status != metav1.ConditionTrue:
		late := with(ready)
		f.NotCurrent = append(f.NotCurrent, late)
		if zone.Status.SettledSerial != 0 {
			f.addUnconfirmed(late)
		}
	case ready.ObservedGeneration < zone.Generation:
		late := with(ready)
		late.Reason, late.Message, late.Since = v1alpha1.ReasonPending, "no controller has judged the last change yet", nil
		f.NotCurrent = append(f.NotCurrent, late)
	}
	if settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled); settled != nil &&
		settled.Status != metav1.ConditionTrue && settled.Reason == v1alpha1.ReasonMassDeletion {
		f.Held = append(f.Held, with(settled))
	}
	if zone.Annotations[v1alpha1.AnnotationPaused] == "true" {
		paused := item
		paused.Message = "the annotation " + v1alpha1.AnnotationPaused + " is true"
		f.Paused = append(f.Paused, paused)
	}
	if zone.Status.EndsAt != nil {
		ends := item
		ends.Until = zone.Status.EndsAt
		f.Withdrawn = append(f.Withdrawn, ends)
	}
}

func (f *reading) addUnconfirmed(item Item) {
	if item.Since != nil && (f.OldestUnconfirmed == nil || item.Since.Before(f.OldestUnconfirmed.Since)) {
		f.OldestUnconfirmed = &item
	}
}

// addOpenRecord counts a Record by the reason for its refusal, or else by that of Ready.
func (f *reading) addOpenRecord(record *v1alpha1.Record, byReason map[string]*RecordCount) {
	item := Item{Kind: "Record", Namespace: record.Namespace, Name: record.Name, FQDN: record.Status.FQDN, View: record.Status.View,
		Reason: v1alpha1.ReasonPending, Since: known(record.CreationTimestamp)}
	of := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionAdopted)
	if of == nil || of.Status == metav1.ConditionTrue {
		of = meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady)
	}
	if of != nil && of.Status != metav1.ConditionTrue {
		item.Reason, item.Message, item.Since = of.Reason, of.Message, known(of.LastTransitionTime)
	}
	if record.Status.ZoneRef != nil {
		f.addUnconfirmed(item)
	}
	count := byReason[item.Reason]
	if count == nil {
		count = &RecordCount{Reason: item.Reason, Oldest: item}
		byReason[item.Reason] = count
	}
	if count.Count++; item.Since.Before(count.Oldest.Since) {
		count.Oldest = item
	}
}

func (f *reading) addUpdateKey(key *v1alpha1.UpdateKey) {
	last := key.Status.LastRefusal
	if last == nil || f.Time.Sub(last.Time.Time) > lately {
		return
	}
	f.Refused = append(f.Refused, Item{Kind: "UpdateKey", Namespace: key.Namespace, Name: key.Name, Reason: last.RCode,
		Message: last.Message, Since: &last.Time})
}

func (f *reading) addEvent(event *eventsv1.Event) {
	at := metav1.NewTime(event.EventTime.Time)
	if f.Time.Sub(at.Time) > lately {
		return
	}
	f.Refused = append(f.Refused, Item{Kind: event.Regarding.Kind, Namespace: event.Regarding.Namespace, Name: event.Regarding.Name,
		Reason: event.Reason, Message: event.Note, Since: &at})
}

// addChallenge adds a challenge that waits for its record. cert-manager tells no time of a refusal.
func (f *reading) addChallenge(one *challenge) {
	if one.Status.Presented || one.Status.Reason == "" {
		return
	}
	f.Refused = append(f.Refused, Item{Kind: "Challenge", Namespace: one.Namespace, Name: one.Name, FQDN: one.Spec.DNSName,
		Message: one.Status.Reason, Since: known(one.CreationTimestamp)})
}

// sort puts the oldest first, and of withdrawn objects the next to end.
func (f *reading) sort() {
	nanos := func(at *metav1.Time) int64 {
		if at == nil {
			return f.Time.UnixNano()
		}
		return at.UnixNano()
	}
	order := func(a, b Item) int {
		return cmp.Or(cmp.Compare(nanos(a.Until), nanos(b.Until)), cmp.Compare(nanos(a.Since), nanos(b.Since)),
			cmp.Compare(a.describeObject(), b.describeObject()))
	}
	for _, items := range [][]Item{f.NotCurrent, f.Held, f.Paused, f.Withdrawn, f.Refused} {
		slices.SortFunc(items, order)
	}
	slices.SortFunc(f.Records, func(a, b RecordCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
}
