// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// state is a word, for example "stalled", and a Kind (ok, waits, fails or off) with a sign and a colour.
type state struct{ Kind, Word string }

func (s state) Sign() string {
	return map[string]string{"ok": "✓", "waits": "…", "fails": "✗", "off": "‖"}[s.Kind]
}

type zoneRow struct {
	Namespace, Name, FQDN, View string
	State                       state
	Signs                       []state
	Reason, Message             string
	Serial, Entries             int64
	Since                       *metav1.Time
	Depth                       int
	Classes                     []string

	key, parent string
	named       bool // has dnsClassRefs
}

func (z *zoneRow) Title() string { return cmp.Or(z.FQDN, z.Name) }

func zoneRowOf(zone *v1alpha1.Zone) *zoneRow {
	row := &zoneRow{Namespace: zone.Namespace, Name: zone.Name, FQDN: cmp.Or(zone.Status.FQDN, zone.Spec.DomainName),
		View: zone.Status.View, Serial: zone.Status.Serial, Entries: zone.Status.EntryCount, key: zone.Namespace + "/" + zone.Name}
	if above := zone.Status.ParentRef; above != nil {
		row.parent = above.Namespace + "/" + above.Name
	}
	for _, ref := range zone.Spec.DNSClassRefs {
		row.Classes = append(row.Classes, ref.Name)
	}
	row.named = len(row.Classes) > 0
	row.State, row.Reason, row.Message, row.Since = stateOf(zone, zone.Status.Conditions)
	row.Signs = signsOf(zone)
	return row
}

// stateOf judges a Zone or Record by its conditions. since is the time of the last change of Ready, or of the deletion.
// Ready=True of a former generation counts as "behind".
func stateOf(of metav1.Object, conditions []metav1.Condition) (is state, reason, message string, since *metav1.Time) {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	created := of.GetCreationTimestamp()
	switch {
	case of.GetDeletionTimestamp() != nil:
		// A deleted Zone stays until its servers have dropped it, whatever Ready says.
		return state{"waits", "being deleted"}, v1alpha1.ReasonTerminating, "its servers still have it", of.GetDeletionTimestamp()
	case ready == nil:
		return state{"waits", "pending"}, v1alpha1.ReasonPending, "no controller has judged it yet", &created
	case ready.Status == metav1.ConditionTrue && ready.ObservedGeneration >= of.GetGeneration():
		return state{"ok", "current"}, ready.Reason, ready.Message, &ready.LastTransitionTime
	case meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled):
		// Stalled waits for a person. Ready=False alone may pass by itself.
		return state{"fails", "stalled"}, ready.Reason, ready.Message, &ready.LastTransitionTime
	case ready.Status == metav1.ConditionFalse:
		return state{"fails", "not current"}, ready.Reason, ready.Message, &ready.LastTransitionTime
	}
	return state{"waits", "behind"}, ready.Reason, ready.Message, &ready.LastTransitionTime
}

// signsOf returns the marks of a zone beside its state. A zone can have several: paused and withdrawn, for example.
func signsOf(zone *v1alpha1.Zone) (signs []state) {
	settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled)
	// Settled has other reasons, such as a cascade, and those pass without a person.
	if settled != nil && settled.Reason == v1alpha1.ReasonMassDeletion && settled.Status != metav1.ConditionTrue {
		signs = append(signs, state{"fails", "held"})
	}
	if ready := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady); ready != nil &&
		ready.Reason == v1alpha1.ReasonNoClass {
		signs = append(signs, state{"off", "no class"})
	}
	if zone.Annotations[v1alpha1.AnnotationPaused] == "true" {
		signs = append(signs, state{"off", "paused"})
	}
	if zone.Status.EndsAt != nil {
		signs = append(signs, state{"waits", "withdrawn"})
	}
	if of := zone.Status.DNSSEC; of != nil {
		kind := "waits"
		if of.Phase == v1alpha1.DNSSECSigned {
			kind = "ok"
		}
		signs = append(signs, state{kind, strings.ToLower(string(of.Phase))})
	}
	return signs
}

func orderZones(a, b *zoneRow) int {
	return cmp.Or(cmp.Compare(a.FQDN, b.FQDN), cmp.Compare(a.View, b.View), cmp.Compare(a.key, b.key))
}
