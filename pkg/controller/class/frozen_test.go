// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/judge"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/test/must"
)

// F30: a frozen zone has Ready False with the next step, written once, and once more after a write of its owner. After
// the repair the zone is Ready as before.
func TestReady_ofAFrozenZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		views := zoneview.NewSet(zoneview.Config{})
		of := classAt("main", "https://dns.example.net")
		objects := []runtime.Object{of}
		for i := range 2 {
			objects = append(objects, putDelivered(t, views, i, "me")...)
		}
		client := fake.NewClientset(objects...)
		var mu sync.Mutex
		var damaged []cache.ObjectName
		freeze := func(zones ...cache.ObjectName) {
			mu.Lock()
			defer mu.Unlock()
			damaged = zones
		}
		ctx := t.Context()
		stored := &records{client: client}
		endJudge := startJudge(t, stored, judge.Config{Frozen: func() []cache.ObjectName {
			mu.Lock()
			defer mu.Unlock()
			return damaged
		}})
		ready := func(name string) *metav1.Condition {
			zone := must.Get(client.KubizoneV1alpha1().Zones("team").Get(ctx, name, metav1.GetOptions{}))(t)
			return meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady)
		}
		wait := func() { time.Sleep(time.Minute); synctest.Wait() }
		wait()
		freeze(cache.NewObjectName("team", "z0"), cache.NewObjectName("team", "gone"))
		wait()
		if c := ready("z0"); c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonFrozen || !strings.Contains(c.Message, "kubizone fsck") {
			t.Errorf("Ready of a frozen zone: %+v", c)
		}
		if c := ready("z1"); c.Status != metav1.ConditionTrue {
			t.Errorf("Ready of another zone: %+v", c)
		}
		time.Sleep(time.Hour) // the zone becomes Stalled too
		synctest.Wait()
		if n := stored.countZones(); n != 2 {
			t.Errorf("%d writes of zones in an hour", n)
		}
		// After a write of its owner the server sets Ready to Pending (S6.13).
		zone := must.Get(client.KubizoneV1alpha1().Zones("team").Get(ctx, "z0", metav1.GetOptions{}))(t)
		zone.Status.Serial, zone.Status.SettledSerial, zone.ResourceVersion = 8, 8, "2"
		meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending})
		must.Get(client.KubizoneV1alpha1().Zones("team").UpdateStatus(ctx, zone, metav1.UpdateOptions{}))(t)
		wait()
		if c, n := ready("z0"), stored.countZones(); c.Reason != v1alpha1.ReasonFrozen || n != 3 {
			t.Errorf("after a write: %+v, %d writes", c, n)
		}
		zone.Status.Serial, zone.Status.SettledSerial, zone.ResourceVersion = 7, 7, "3"
		must.Get(client.KubizoneV1alpha1().Zones("team").UpdateStatus(ctx, zone, metav1.UpdateOptions{}))(t)
		freeze()
		wait()
		if c := ready("z0"); c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonDelivered {
			t.Errorf("mended: %+v", c)
		}
		endJudge()
	})
}
