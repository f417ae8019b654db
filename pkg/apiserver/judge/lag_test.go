// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/test/must"
)

// The lag of a class is that of its oldest unconfirmed zone, and the servers behind are those of all its zones, each
// counted once. A server that had the zone when asked, and lacks the serial settled since, is behind.
func TestIndex_findsLags(t *testing.T) {
	informer := func(of runtime.Object) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(&cache.ListWatch{}, of, 0, cache.Indexers{})
	}
	x := &objects.Index{Zones: informer(&v1alpha1.Zone{}), Classes: informer(&v1alpha1.DNSClass{}), Deliveries: informer(&v1alpha1.Delivery{}),
		Clusters: informer(&bind9.Bind9Cluster{})}
	must.Succeed(t, x.Prepare())
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, name := range []string{"main", "quick", "idle"} {
		must.Succeed(t, x.Classes.GetStore().Add(aClass(name, func(*v1alpha1.DNSClass) {})))
	}
	put := func(uid string, age time.Duration, settled int64, confirmed map[string]int64, rows ...v1alpha1.DeliveryServer) {
		zone := aZone()
		zone.Name, zone.UID, zone.Status.SettledSerial, zone.Spec.DNSClassRefs = uid, types.UID(uid), settled, nil
		status := metav1.ConditionTrue
		if age > 0 {
			status = metav1.ConditionUnknown
		}
		meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: status,
			LastTransitionTime: metav1.NewTime(began.Add(-age))})
		for class, serial := range confirmed {
			ref := v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: class}
			zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, ref)
			one := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: uid + class},
				Spec:   v1alpha1.DeliverySpec{Zone: v1alpha1.DeliveredZone{UID: zone.UID}, ClassRef: ref},
				Status: v1alpha1.DeliveryStatus{Serial: serial, Servers: rows}}
			must.Succeed(t, x.Deliveries.GetStore().Add(one))
		}
		must.Succeed(t, x.Zones.GetStore().Add(zone))
	}
	row := func(name string, state v1alpha1.ServerState, serial int64) v1alpha1.DeliveryServer {
		return v1alpha1.DeliveryServer{Name: name, State: state, Serial: serial}
	}
	put("late", time.Minute, 7, map[string]int64{"main": 6, "quick": 7}, row("a", v1alpha1.ServerCurrent, 7),
		row("b", v1alpha1.ServerFailed, 0))
	put("later", time.Hour, 7, map[string]int64{"main": 6}, row("a", v1alpha1.ServerCurrent, 6), row("b", v1alpha1.ServerBehind, 5))
	put("well", 0, 7, map[string]int64{"main": 7, "idle": 7}, row("c", v1alpha1.ServerCurrent, 7))
	put("unsettled", 2*time.Hour, 0, map[string]int64{"main": 0})
	lags := findLags(x)
	for class, lag := range lags {
		slices.Sort(lag.lagging)
		lags[class] = lag
	}
	want := map[string]classLag{"main": {began.Add(-time.Hour), []string{"a", "b"}}, "quick": {lagging: []string{"b"}}, "idle": {}}
	if !reflect.DeepEqual(lags, want) {
		t.Errorf("got  %+v\nwant %+v", lags, want)
	}
}
