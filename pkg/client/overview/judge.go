// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

const lately = time.Hour

// addZone counts a zone, and adds the zone to each matching list. A zone can be held, paused and withdrawn at once.
func (o *Overview) addZone(zone *v1alpha1.Zone) {
	o.Zones++
	// 1. Is the zone served as it is written?
	item := Item{Kind: "Zone", Namespace: zone.Namespace, Name: zone.Name, FQDN: cmp.Or(zone.Status.FQDN, zone.Spec.DomainName),
		View: zone.Status.View}
	s := StateOf(zone, zone.Status.Conditions)
	judged := item
	judged.Reason, judged.Message, judged.Since = s.Reason, s.Message, s.Since
	switch {
	case s.Word != Current:
		o.NotCurrent = append(o.NotCurrent, judged)
		// A server that went back has confirmed the last change before.
		if s.isJudged() && zone.Status.SettledSerial != 0 && s.Reason != v1alpha1.ReasonServerWentBack {
			o.addUnconfirmed(judged)
		}
	case s.Reason == v1alpha1.ReasonNoClass:
		o.NoClass = append(o.NoClass, judged)
	}
	// 2. Did a person, or a rule, stop something of the zone?
	marks := MarksOf(zone)
	if held := marks.Held; held != nil {
		stopped := item
		stopped.Reason, stopped.Message, stopped.Since = held.Reason, held.Message, knownTime(held.LastTransitionTime)
		o.Held = append(o.Held, stopped)
	}
	if marks.Paused {
		stopped := item
		stopped.Message = "the annotation " + v1alpha1.AnnotationPaused + " is true"
		o.Paused = append(o.Paused, stopped)
	}
	if marks.EndsAt != nil {
		stopped := item
		stopped.Until = marks.EndsAt
		o.Withdrawn = append(o.Withdrawn, stopped)
	}
}

// addTerminating notes the namespaces under deletion that still have a Zone without a deletionTimestamp: kube-apiserver
// deletes each Zone at once, unless S8.1 refuses that.
func (o *Overview) addTerminating(kept map[string]*v1alpha1.Zone) {
	if o.Installation == nil {
		return
	}
	for _, namespace := range o.Installation.NamespacesTerminating {
		if zone := kept[namespace]; zone != nil {
			o.Terminating = append(o.Terminating, Item{Kind: "Namespace", Name: namespace, FQDN: zone.Status.FQDN,
				Reason: v1alpha1.ReasonTerminating, Message: fmt.Sprintf("Zone %s stays, since other namespaces have Records or zones "+
					"there, or by deletionProtection (S8.1); to delete it with these: kubectl annotate zone %[1]s -n %s %s=%s",
					zone.Name, namespace, v1alpha1.AnnotationDelete, zone.UID)})
		}
	}
}

func (o *Overview) addUnconfirmed(item Item) {
	if item.Since != nil && (o.OldestUnconfirmed == nil || isOlder(item.Since, o.OldestUnconfirmed.Since)) {
		o.OldestUnconfirmed = &item
	}
}

// addOpenRecord counts a Record without Ready=True by the reason of its State.
func (o *Overview) addOpenRecord(record *v1alpha1.Record, byReason map[string]*RecordCount) {
	of := RecordState(record)
	item := Item{Kind: "Record", Namespace: record.Namespace, Name: record.Name, FQDN: record.Status.FQDN, View: record.Status.View,
		Reason: of.Reason, Message: of.Message, Since: of.Since}
	// A Record in no zone has nothing for servers to confirm.
	if record.Status.ZoneRef != nil {
		o.addUnconfirmed(item)
	}
	count := byReason[item.Reason]
	if count == nil {
		count = &RecordCount{Reason: item.Reason, Oldest: item}
		byReason[item.Reason] = count
	}
	if count.Count++; isOlder(item.Since, count.Oldest.Since) {
		count.Oldest = item
	}
}

// isOlder compares times, of which nil is unknown and the newest.
func isOlder(at, than *metav1.Time) bool { return at != nil && (than == nil || at.Before(than)) }

func (o *Overview) addUpdateKey(key *v1alpha1.UpdateKey) {
	last := key.Status.LastRefusal
	if last == nil || o.Time.Sub(last.Time.Time) > lately {
		return
	}
	o.Refused = append(o.Refused, Item{Kind: "UpdateKey", Namespace: key.Namespace, Name: key.Name, Reason: last.RCode,
		Message: last.Message, Since: &last.Time})
}

func (o *Overview) addEvent(event *eventsv1.Event) {
	at := metav1.NewTime(event.EventTime.Time)
	if o.Time.Sub(at.Time) > lately {
		return
	}
	o.Refused = append(o.Refused, Item{Kind: event.Regarding.Kind, Namespace: event.Regarding.Namespace, Name: event.Regarding.Name,
		Reason: event.Reason, Message: event.Note, Since: &at})
}

func (o *Overview) addWithdrawn(record *v1alpha1.Record) {
	if ends := record.Status.EndsAt; ends != nil {
		o.Withdrawn = append(o.Withdrawn, Item{Kind: "Record", Namespace: record.Namespace, Name: record.Name, FQDN: record.Status.FQDN,
			Until: ends})
	}
}

// addChallenge adds an ACME challenge refused by Kubizone's solver. Challenges of other solvers do not count.
func (o *Overview) addChallenge(one *unstructured.Unstructured) {
	text := func(path ...string) string {
		found, _, _ := unstructured.NestedString(one.Object, path...)
		return found
	}
	isPresented, _, _ := unstructured.NestedBool(one.Object, "status", "presented")
	reason := text("status", "reason")
	if isPresented || reason == "" || text("spec", "solver", "dns01", "webhook", "groupName") != acme.GroupName {
		return
	}
	o.Refused = append(o.Refused, Item{Kind: "Challenge", Namespace: one.GetNamespace(), Name: one.GetName(), FQDN: text("spec", "dnsName"),
		Message: reason, Since: knownTime(one.GetCreationTimestamp())})
}

// sortItems sorts the lists, oldest or soonest first. An item without a time is the newest.
func (o *Overview) sortItems() {
	nanos := func(at *metav1.Time) int64 {
		if at == nil {
			return o.Time.UnixNano()
		}
		return at.UnixNano()
	}
	order := func(a, b Item) int {
		return cmp.Or(cmp.Compare(nanos(a.Until), nanos(b.Until)), cmp.Compare(nanos(a.Since), nanos(b.Since)),
			cmp.Compare(a.Object(), b.Object()))
	}
	slices.SortStableFunc(o.Unread, func(a, b Unread) int {
		return cmp.Or(cmp.Compare(b.Verb+b.Resource, a.Verb+a.Resource), cmp.Compare(a.Namespace, b.Namespace))
	})
	for _, items := range [][]Item{o.NotCurrent, o.NoClass, o.Held, o.Paused, o.Withdrawn, o.Refused} {
		slices.SortFunc(items, order)
	}
	slices.SortFunc(o.Records, func(a, b RecordCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
}

// Verdict returns "ok", "no" if a zone is not current, or "error" if none could be read.
func (o *Overview) Verdict() string {
	switch o.Fault() {
	case nil:
		return "ok"
	case ErrBehind, ErrWaiting:
		return "no"
	}
	return "error"
}

// Summary returns the first line: how many zones, and how many of them are not current.
func (o *Overview) Summary() string {
	scope := "all namespaces"
	if len(o.Namespaces) > 0 {
		scope = "namespace " + strings.Join(o.Namespaces, ", ")
	}
	zones, undelivered := terminal.Count(o.Zones, "zone")+" of "+scope, ""
	if n := len(o.NoClass); n > 0 {
		undelivered = "; " + terminal.Count(n, "zone") + " without a class"
	}
	switch o.Fault() {
	case nil:
		return zones + ", all current" + undelivered
	case ErrBehind:
		return fmt.Sprintf("%s, %d not current%s", zones, len(o.NotCurrent), undelivered)
	case ErrWaiting:
		if o.Zones > 0 {
			zones += ", all current"
		}
		return fmt.Sprintf("%s; %s not Ready, the most by %s%s", zones, terminal.Count(o.countWaiting(), "Record"), o.Records[0].Reason,
			undelivered)
	}
	return fmt.Sprintf("no zone of %s could be read; kubectl kubizone doctor finds the cause", scope)
}

// Fault returns nil if all zones are current, else ErrBehind, ErrWaiting or ErrUnread.
func (o *Overview) Fault() error {
	switch {
	case !o.ZonesRead:
		return ErrUnread
	case len(o.NotCurrent) > 0:
		return ErrBehind
	case len(o.Namespaces) > 0 && len(o.Records) > 0:
		return ErrWaiting
	}
	return nil
}

// countWaiting counts Records without Ready=True. In a status of all namespaces they decide nothing: there a refused
// Record of any tenant would hide that every zone is current.
func (o *Overview) countWaiting() (count int64) {
	for _, one := range o.Records {
		count += one.Count
	}
	return count
}
