// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/ready"
	"kubi.zone/kubizone/test/must"
)

// The controller learns the state of a delivery from events of its own process and, later, from the Delivery object in
// its informer. The events count while the informer is behind. If the Delivery shows a later serial from another
// worker, the Delivery counts, because this process then has nothing to deliver and reports no event.
func TestReports_goByTheLoopOfThisProcess(t *testing.T) {
	r := &reports{states: map[delivery.Key]report{}}
	of := func(at delivery.State) *v1alpha1.Delivery {
		return &v1alpha1.Delivery{Status: ready.StatusFor("a", at, nil)}
	}
	key := delivery.Key{UID: "u", Class: "a"}
	older, newer := makeBegunState(), makeBegunState()
	older.Serial, newer.Serial = 6, 7
	r.takeDelivery(key, of(older))
	if got := r.get(key); !got.Known || got.Observed || got.State.Serial != 6 {
		t.Errorf("of the Delivery: %+v", got)
	}
	r.takeEvent(delivery.Event{Key: key, Outcome: delivery.OutcomeDelivered, State: newer})
	r.takeDelivery(key, of(older))
	if got := r.get(key); !got.Known || !got.Observed || got.State.Serial != 7 {
		t.Errorf("of the Loop: %+v", got)
	}
	foreign := newer
	foreign.Holder, foreign.Serial = "another", 8
	r.takeDelivery(key, of(foreign))
	if got := r.get(key); !got.Known || !got.Observed || got.State.Serial != 8 {
		t.Errorf("of another worker: %+v", got)
	}
	r.takeDelivery(key, of(newer))
	if got := r.get(key); got.State.Serial != 8 {
		t.Errorf("late, after another worker: %+v", got)
	}
	r.takeEvent(delivery.Event{Key: key, Outcome: delivery.OutcomeRemoved, LeftoverZone: name.Name{}})
	r.takeDelivery(key, of(older))
	if got := r.get(key); got.Known || !got.Observed {
		t.Errorf("withdrawn: %+v", got)
	}
}

// A fault of a class, from the condition Ready, counts for each zone of the class. The fault must have been observed at
// the class's present generation, because a later change of the spec may be the repair.
func TestReadFacts_whatAClassSays(t *testing.T) {
	client := fake.NewClientset()
	c := newController(t, client)
	for generation, want := range map[int64]string{1: "ServerUnreachable", 2: ""} {
		of := classAt("public", "here")
		of.Generation = generation
		of.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "ServerUnreachable", ObservedGeneration: 1}}
		must.Succeed(t, c.index.Classes.GetStore().Add(of))
		if part := c.zones.readFacts(aZone(), ready.InForce{Classes: []string{"public"}}).Classes[0].FaultReason; part != want {
			t.Errorf("generation %d: %q, want %q", generation, part, want)
		}
	}
}

// The controller writes the status of a Zone once for each version, even if the Zone is processed several times before
// the informer shows the write. When the Zone is deleted, the controller keeps nothing about it.
func TestSyncStatus_onceFromEachVersion(t *testing.T) {
	zone := aZone()
	zone.ResourceVersion = "1"
	client := fake.NewClientset(zone)
	c := newController(t, client)
	f := &ready.Facts{Zone: zone, InForce: ready.InForce{Classes: []string{"public"}},
		Classes: []ready.ClassFacts{{Class: "public", Known: true,
			State: delivery.State{Serial: 7, Hash: "h", Ready: delivery.Condition{Status: delivery.True, Reason: delivery.ReasonDelivered}}}}}
	at := cache.NewObjectName(zone.Namespace, zone.Name)
	for range 3 {
		must.Succeed(t, c.zones.syncStatus(t.Context(), c.zones.memoryOf(at), f))
	}
	if n := len(client.Actions()); n != 1 {
		t.Errorf("%d writes: %v", n, client.Actions())
	}
	c.reports.takeEvent(delivery.Event{Key: key, Outcome: delivery.OutcomeDelivered, State: makeBegunState()})
	must.Succeed(t, c.zones.forgetZone(t.Context(), at, string(zone.UID)))
	if left := len(c.zones.memory) + len(c.reports.states); left != 0 {
		t.Errorf("kept: %v, %v", c.zones.memory, c.reports.states)
	}
}
