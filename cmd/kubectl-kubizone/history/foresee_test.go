// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/test/must"
)

// To revert a zone may remove so many RRsets that the zone is held back as a mass deletion (S7.5). The plan says so
// before the revert, and not for a zone or a revert with too few deletions.
func TestRevert_foreseesTheHold_S7_5(t *testing.T) {
	w := newWorld(t, "held.test", "platform")
	w.putRecord("alice", "platform", "first", "first", "192.0.2.1", nil)
	good := w.readZone().Status.Serial
	for i := range 3 {
		w.putRecord("alice", "platform", fmt.Sprint("r", i), fmt.Sprint("r", i), "192.0.2.2", nil)
	}
	makePlan := func(to int64) *history.Plan {
		t.Helper()
		reader := &history.Reader{Client: w.up.KubizoneV1alpha1()}
		return must.Get(reader.MakePlan(t.Context(), w.makeSubject("platform"), history.Moment{Serial: serial.Serial(to)},
			history.Options{}))(t)
	}
	if plan := makePlan(good); plan.Held != "" || len(plan.Changes) != 3 {
		t.Errorf("a small zone: %+v", plan)
	}
	for i := 3; i < 20; i++ {
		w.putRecord("alice", "platform", fmt.Sprint("r", i), fmt.Sprint("r", i), "192.0.2.2", nil)
	}
	if plan := makePlan(good); !strings.Contains(plan.Held, "lacks 20 of its 21 RRsets, more than 30 %") {
		t.Errorf("held: %q", plan.Held)
	}
	if plan := makePlan(w.readZone().Status.Serial - 2); plan.Held != "" {
		t.Errorf("a few: held: %q", plan.Held)
	}
	w.expectLine("dave", fmt.Sprintf("revert held.test --to %d --plan", good), 1, "\nheld: the revert holds the zone (S7.5)")
}

// A Record with a value of another Record made no step. The value stays, and the plan names the Record.
func TestRevert_ofSharedValues(t *testing.T) {
	w := newWorld(t, "shared.test", "platform")
	zone := w.readZone()
	zone.Spec.Delegations = append(zone.Spec.Delegations, v1alpha1.DelegationRule{Namespaces: []string{"one", "two"},
		Records: []v1alpha1.RecordDelegation{{Pattern: "feed", Shared: true}}})
	must.Get(w.up.KubizoneV1alpha1().Zones("platform").Update(t.Context(), zone, metav1.UpdateOptions{}))(t)
	w.putRecord("alice", "one", "old", "feed", "192.0.2.9", nil)
	before, text := w.readZone().Status.Serial, w.readEntries()
	put := func(ns string) { w.putRecord("alice", ns, "feed", "feed", "192.0.2.1", nil) }
	remove := func(ns string) {
		t.Helper()
		must.Succeed(t, w.up.KubizoneV1alpha1().Records(ns).Delete(t.Context(), "feed", metav1.DeleteOptions{}))
	}
	put("one")
	with, withText := w.readZone().Status.Serial, w.readEntries()
	put("two")
	if now := w.readZone().Status.Serial; now != with {
		t.Fatalf("the second made serial %d after %d", now, with)
	}
	reader := &history.Reader{Client: w.up.KubizoneV1alpha1()}
	makePlan := func(to int64) *history.Plan {
		t.Helper()
		return must.Get(reader.MakePlan(t.Context(), w.makeSubject("platform"), history.Moment{Serial: serial.Serial(to)},
			history.Options{}))(t)
	}
	plan := makePlan(before)
	if len(plan.Changes) != 1 || plan.Changes[0].Namespace != "one" || len(plan.Left) != 1 || plan.Left[0].Namespace != "two" ||
		plan.Left[0].Text != "- feed.shared.test. A 192.0.2.1" {
		t.Errorf("%+v", plan)
	}
	must.Succeed(t, reader.Run(t.Context(), plan))
	w.expectEntries("the value of the other went", withText)
	remove("two")
	w.expectEntries("after all", text)
	// The last with the value comes back: the content is that of the serial.
	if plan = makePlan(with); len(plan.Changes) != 1 || plan.Changes[0].Namespace != "two" || plan.Changes[0].Op != "+" {
		t.Errorf("%+v", plan)
	}
	must.Succeed(t, reader.Run(t.Context(), plan))
	w.expectEntries("after the second revert", withText)
}
