// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/test/must"
)

// S6.13: a Record is written once when it becomes Ready. Serials are confirmed faster than informers tell of what was
// written: that is no reason to write again, and a change of the Record is.
func TestSyncRecords_onceForEachChange(t *testing.T) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "z", UID: "u"}}
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "www", UID: "r", ResourceVersion: "1", Generation: 1}, Spec: v1alpha1.RecordSpec{Type: "A"}}
	record.Status = v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: 7, ZoneRef: &v1alpha1.AdoptingZone{Namespace: "team", Name: "z", UID: "u"}}
	written := func(record *v1alpha1.Record) { // as the content write leaves it
		record.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending, ObservedGeneration: record.Generation}}
	}
	written(record)
	client := fake.NewClientset(record)
	c := newController(t, client)
	force := inForce{classes: []string{"main"}}
	// at has the class confirm a serial and says how often Records were written by then.
	at := func(confirmed serial.Serial) int {
		t.Helper()
		f := factsOf(zone, force, map[string]delivery.State{"main": makeState(confirmed, delivery.True, delivery.ReasonDelivered)})
		must.Succeed(t, c.records.syncRecords(t.Context(), zone, standingOf(f)))
		writes := 0
		for _, action := range client.Actions() {
			if action.GetVerb() == "patch" {
				writes++
			}
		}
		return writes
	}
	heard := func(before, after *v1alpha1.Record) {
		t.Helper()
		must.Succeed(t, c.index.records.GetStore().Add(after))
		if before != nil {
			c.recordChanged(before, after)
		}
	}
	heard(nil, record)
	if n := at(6); n != 0 {
		t.Errorf("%d writes before its serial is confirmed", n)
	}
	for _, confirmed := range []serial.Serial{7, 7, 8, 9} {
		if n := at(confirmed); n != 1 {
			t.Errorf("%d writes at serial %d, while the informer has not told of the first", n, confirmed)
		}
	}
	changed := record.DeepCopy()
	changed.ResourceVersion, changed.Generation, changed.Status.Serial = "2", 2, 10
	written(changed)
	heard(record, changed)
	if n := at(9); n != 1 {
		t.Errorf("%d writes before its next serial is confirmed", n)
	}
	if n := at(10); n != 2 {
		t.Errorf("%d writes for two changes", n)
	}
	ready := changed.DeepCopy()
	ready.ResourceVersion = "3"
	heard(changed, ready)
	if len(c.records.written) != 0 {
		t.Errorf("what the informer has told of is kept: %v", c.records.written)
	}
}

// S6.13: the worker of a Zone and that of a Record see at the same time that the Record is Ready: one of them writes
// it. A write that fails is made again.
func TestSyncRecords_onceByTwoWorkers_S6_13(t *testing.T) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "z", UID: "u"}}
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "www", UID: "r", ResourceVersion: "1", Generation: 1}, Spec: v1alpha1.RecordSpec{Type: "A"}}
	record.Status = v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: 7, ZoneRef: &v1alpha1.AdoptingZone{Namespace: "team", Name: "z", UID: "u"}}
	record.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending, ObservedGeneration: 1}}
	client := fake.NewClientset(record)
	c := newController(t, client)
	must.Succeed(t, c.index.records.GetStore().Add(record))
	s := standingOf(factsOf(zone, inForce{classes: []string{"main"}}, map[string]delivery.State{"main": makeState(7, delivery.True,
		delivery.ReasonDelivered)}))
	say, is := c.records.findSaying(record, s) // by the other worker, before the write begins
	if !is {
		t.Fatal("there is nothing to say of a Record that became Ready")
	}
	writes, away := 0, errors.New("the API is away")
	client.PrependReactor("patch", "records", func(clienttesting.Action) (bool, runtime.Object, error) {
		writes++
		if _, is := c.records.findSaying(record, s); is {
			t.Error("while it is written there is something to say")
		}
		if c.records.noteWriting(say) {
			t.Error("another worker writes it too")
		}
		if writes == 1 {
			return true, nil, away
		}
		return false, nil, nil
	})
	if err := c.records.syncRecords(t.Context(), zone, s); !errors.Is(err, away) {
		t.Errorf("the write failed: %v", err)
	}
	if err := c.records.syncRecord(t.Context(), "team", "www"); err != nil {
		t.Error(err)
	}
	if err := c.records.syncRecords(t.Context(), zone, s); err != nil || writes != 2 {
		t.Errorf("%d writes, want one that failed and one more: %v", writes, err)
	}
}
