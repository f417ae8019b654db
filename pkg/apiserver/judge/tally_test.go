// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/test/must"
)

func readValues(t *testing.T, registry metrics.KubeRegistry, name string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, family := range must.Get(registry.Gather())(t) {
		for _, one := range family.GetMetric() {
			labels := ""
			for _, label := range one.GetLabel() {
				labels += label.GetValue() + " "
			}
			if family.GetName() == name {
				values[labels] = one.GetGauge().GetValue()
			}
		}
	}
	return values
}

// The counts follow each change of a Record, and name ten namespaces, however many a tenant makes.
func TestTally_countsWaitingRecords(t *testing.T) {
	l := newLeader(t, &stored{records: map[law.Ref]*v1alpha1.Record{}}, 50)
	registry := l.config.Registry
	readyReason, withdrawn := "", false
	track := func(namespace, name, zone, reason string, deleted bool) {
		record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if zone != "" {
			record.Status.ZoneRef = &v1alpha1.AdoptingZone{UID: "u"}
		}
		adopted := metav1.Condition{Type: v1alpha1.ConditionAdopted, Status: metav1.ConditionTrue, Reason: v1alpha1.ConditionAdopted}
		if reason != "" {
			adopted.Status, adopted.Reason = metav1.ConditionFalse, reason
		}
		if withdrawn {
			record.Status.EndsAt = &metav1.Time{}
		}
		record.Status.Conditions = []metav1.Condition{adopted}
		if readyReason != "" {
			record.Status.Conditions = append(record.Status.Conditions,
				metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: readyReason})
		}
		l.trackRecord(trimRecord(record), deleted)
	}
	expect := func(name string, want map[string]float64) {
		t.Helper()
		if got := readValues(t, registry, name); !maps.Equal(got, want) {
			t.Errorf("%s %v, want %v", name, got, want)
		}
	}
	const (
		waitingFor, unconfirmed = "kubizone_records_waiting", "kubizone_namespace_records_unconfirmed"
		inAll, inNamespace      = "kubizone_records_not_adopted", "kubizone_namespace_records_not_adopted"
	)
	track("team", "a", "", law.ReasonNoEnclosingZone, false)
	track("team", "b", "", law.ReasonNameHeld, false)
	track("team", "c", "u", "", false)
	track("team", "d", "u", law.ReasonDelegationWithdrawn, false)
	expect(inAll, map[string]float64{"NoEnclosingZone ": 1, "NameHeld ": 1, "DelegationWithdrawn ": 1})
	expect(inNamespace, map[string]float64{"team NoEnclosingZone ": 1, "team NameHeld ": 1, "team DelegationWithdrawn ": 1})
	expect(unconfirmed, map[string]float64{"team ": 2})
	expect(waitingFor, map[string]float64{"Pending ": 2})
	readyReason = v1alpha1.ReasonPaused
	track("team", "c", "u", "", false)
	expect(waitingFor, map[string]float64{"Pending ": 1, "Paused ": 1})

	const ending = "kubizone_records_withdrawn"
	withdrawn = true
	track("team", "c", "u", "", false)
	expect(ending, map[string]float64{"": 1})
	withdrawn = false
	track("team", "c", "u", "", false)
	expect(ending, map[string]float64{"": 0})

	track("team", "a", "", law.ReasonNameHeld, false)
	track("team", "b", "u", "", false)
	track("team", "d", "u", "", true)
	expect(inAll, map[string]float64{"NameHeld ": 1})
	expect(unconfirmed, map[string]float64{"team ": 2})

	for i := range 30 {
		for n := range i + 1 {
			track(fmt.Sprintf("n%d", i), fmt.Sprint(n), "", law.ReasonNoEnclosingZone, false)
		}
	}
	want := map[string]float64{}
	for i := 20; i < 30; i++ {
		want[fmt.Sprintf("n%d NoEnclosingZone ", i)] = float64(i + 1)
	}
	expect(inNamespace, want)
	expect(inAll, map[string]float64{"NameHeld ": 1, "NoEnclosingZone ": 30 * 31 / 2})

	l.resetTracker()
	expect(waitingFor, map[string]float64{})
	expect(inAll, map[string]float64{})
	expect(unconfirmed, map[string]float64{})
}
