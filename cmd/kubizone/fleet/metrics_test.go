// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	listers "kubi.zone/kubizone/api/client/listers/bind9/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// The fleet exports the number of its servers, and for how long servers have been unready in the ten namespaces where
// that has lasted longest.
func TestMetrics_ofServers(t *testing.T) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	registry := metrics.NewKubeRegistry()
	NewMetrics(registry, listers.NewBind9InstanceLister(store))
	add := func(namespace, name string, status metav1.ConditionStatus, minutes int) {
		at := metav1.NewTime(time.Now().Add(time.Duration(-minutes) * time.Minute))
		server := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: at}}
		server.Spec.Role = bind9.RoleSecondary
		if status != "" {
			server.Status.Conditions = []metav1.Condition{{Type: bind9.ConditionReady, Status: status, LastTransitionTime: at}}
		}
		must.Succeed(t, store.Add(server))
	}
	add("n0", "ready", metav1.ConditionTrue, 1000)
	add("n0", "new", "", 1)
	for i := range 30 {
		add(fmt.Sprintf("n%d", i), "away", metav1.ConditionFalse, i)
	}
	got := map[string]int{}
	for _, family := range must.Get(registry.Gather())(t) {
		for _, one := range family.GetMetric() {
			labels, value := "", one.GetGauge().GetValue()
			for _, label := range one.GetLabel() {
				labels += " " + label.GetValue()
			}
			if family.GetName() == "kubizone_fleet_unready_seconds" {
				value /= 60
			}
			got[family.GetName()+labels] = int(value)
		}
	}
	want := map[string]int{"kubizone_fleet_servers true secondary": 1, "kubizone_fleet_servers false secondary": 30,
		"kubizone_fleet_servers unknown secondary": 1}
	for i := 20; i < 30; i++ {
		want[fmt.Sprintf("kubizone_fleet_unready_seconds n%d", i)] = i
	}
	if !maps.Equal(got, want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
}
