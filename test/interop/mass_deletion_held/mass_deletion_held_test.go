// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mass_deletion_held proves S7.5 at every place to which a zone is delivered: two primaries, their
// secondaries BIND and Knot, and servers written by classes of two providers. While a mass deletion holds the zone,
// each keeps the old content, no matter which server is killed, restarted, added or removed. All of them get the new
// content once the deletion is released or undone.
package mass_deletion_held

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const (
	rulesOfBoth = `{"spec":{"delegations":[{"namespace":"infra","records":[{"pattern":"*"}]},{"namespace":"team","records":[{"pattern":"t*"}]}]}}`
	ruleOfTeam  = `{"spec":{"delegations":[{"namespace":"team","records":[{"pattern":"t*"}]}]}}`
)

// The long form has a zone of 1,500 records, and more changes during the hold than the journal keeps.
func TestAMassDeletionLeavesNoPlace_S7_5(t *testing.T) {
	records, changes := 20, 3
	if rig.Long() {
		records, changes = 1500, 3000
	}
	w := startWorld(t)
	ctx := t.Context()
	var own []string
	for i := range records {
		own = append(own, fmt.Sprint("r", i))
	}
	having := func(own []string, team ...string) []string { return makeLines(append(slices.Clone(own), team...)...) }
	must.Get(w.api.Zones("infra").Create(ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "example"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "example.org.", NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
		WithdrawalGracePeriod: &metav1.Duration{}, // a withdrawal at the end of a period is not held (S7.5)
	}}, metav1.CreateOptions{}))(t)
	w.patchZone(rulesOfBoth)
	w.runEach(records, func(i int) error { return w.makeRecord("infra", own[i]) })
	team := func(name string) {
		t.Helper()
		must.Succeed(t, w.makeRecord("team", name))
	}
	team("t1")
	// The secondaries start when the zone exists: a refused secondary waits long before retrying.
	w.nameClasses("secondaries", "update", "hook")
	all := having(own, "t1")
	w.waitForArrival(w.getZone().Status.Serial, all, w.first, w.second)
	w.startBIND()
	w.startKnot()
	places := []place{w.first, w.second, w.secondBIND, w.secondKnot, w.hook, w.update}
	w.waitForArrival(w.getZone().Status.Serial, all, places...)
	w.waitForCondition("", v1alpha1.ConditionReady, "True Delivered")

	passPeriods(t, 30*time.Minute)
	t.Log("put back: nothing has ever left")
	before := w.getZone().Status.Serial
	stop := w.watchPlaces(all, places...)
	w.patchZone(ruleOfTeam)
	w.waitForCondition("", v1alpha1.ConditionSettled, "False MassDeletion")
	w.waitForCondition("", v1alpha1.ConditionReady, "False MassDeletion")
	w.primaries[1].restartProgram()
	w.knot.Close()
	w.startKnot()
	w.waitForArrival(before, all, w.second, w.secondKnot)
	w.nameClasses("secondaries", "update", "hook", "late")
	w.waitForArrival(before, all, w.late)
	team("t2")
	w.waitForCondition("t2", v1alpha1.ConditionReady, "False MassDeletion")
	waitUntil(t, "the cascade has left the NS and t2, and what was there before is delivered", func() string {
		if is := w.getZone().Status; is.RRsetCount != 2 || is.SettledSerial != before {
			return fmt.Sprintf("%d RRsets are left, serial %d is delivered, and %d was", is.RRsetCount, is.SettledSerial, before)
		}
		return ""
	})
	stop()
	w.patchZone(rulesOfBoth)
	w.waitForCondition("t2", v1alpha1.ConditionReady, "True Delivered")
	w.waitForCondition("", v1alpha1.ConditionReady, "True Delivered")
	w.waitForArrival(w.getZone().Status.Serial, having(own, "t1", "t2"), append(places, w.late)...)

	passPeriods(t, time.Hour)
	t.Log("let through: everything goes everywhere")
	gone := map[int64]int{} // by serial
	for i, name := range own {
		must.Succeed(t, w.api.Records("infra").Delete(ctx, name, metav1.DeleteOptions{}))
		gone[w.getZone().Status.Serial] = i + 1
	}
	w.waitForCondition("", v1alpha1.ConditionSettled, "False MassDeletion")
	held := w.getZone().Status.SettledSerial
	if n := gone[held]; n == 0 || n > records*3/10+1 {
		t.Fatalf("of %d records %d went at serial %d, which is delivered", records, n, held)
	}
	kept := having(own[gone[held]:], "t1", "t2")
	w.waitForArrival(held, kept, append(places, w.late)...)
	stop = w.watchPlaces(kept, places...)
	w.runEach(changes, func(i int) error {
		name := fmt.Sprint("te", i)
		if err := w.makeRecord("team", name); err != nil {
			return err
		}
		return w.api.Records("team").Delete(ctx, name, metav1.DeleteOptions{})
	})
	w.primaries[0].restartProgram()
	w.bind.Close()
	w.startBIND()
	w.waitForArrival(held, kept, w.first, w.secondBIND)
	w.up.restartProgram()
	w.nameClasses("secondaries", "update", "hook")
	w.waitForArrival(held, having(nil), w.late)
	must.Get(w.api.DNSClasses().Patch(ctx, "update", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"rfc2136":{"server":%q}}}`,
		w.moved.at), metav1.PatchOptions{}))(t)
	w.waitForArrival(held, kept, w.moved)
	team("t3")
	w.waitForCondition("t3", v1alpha1.ConditionReady, "False MassDeletion")
	w.waitForArrival(held, kept, places...)
	stop()
	w.patchZone(`{"metadata":{"annotations":{"kubi.zone/publish-deletions":"%d"}}}`, held)
	w.waitForCondition("t3", v1alpha1.ConditionReady, "True Delivered")
	w.waitForCondition("", v1alpha1.ConditionReady, "True Delivered")
	w.waitForArrival(w.getZone().Status.Serial, having(nil, "t1", "t2", "t3"), append(places[:len(places)-1], w.moved)...)
}
