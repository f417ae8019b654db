// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"maps"
	"math"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/test/must"
)

// The elected server exports the lag of each class: that of its oldest unconfirmed zone, and the servers that were
// behind in any of its zones when asked last, each counted once. Servers that are not asked, because the zone is paused
// or the class has a fault, are not behind. A fault that comes and goes does not make the oldest change younger.
func TestLags_areThoseOfAllZones(t *testing.T) {
	informer := func(of runtime.Object) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(&cache.ListWatch{}, of, 0, cache.Indexers{})
	}
	x := &objects.Index{Zones: informer(&v1alpha1.Zone{}), Classes: informer(&v1alpha1.DNSClass{}), Deliveries: informer(&v1alpha1.Delivery{}),
		Clusters: informer(&bind9.Bind9Cluster{})}
	must.Succeed(t, x.Prepare())
	l := newLeader(t, &stored{records: map[law.Ref]*v1alpha1.Record{}}, 50)
	l.index = x
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
				Status: v1alpha1.DeliveryStatus{Serial: serial, Hash: "h", Servers: rows}}
			must.Succeed(t, x.Deliveries.GetStore().Add(one))
		}
		must.Succeed(t, x.Zones.GetStore().Add(zone))
		must.Succeed(t, l.processZone(t.Context(), uid))
	}
	row := func(name string, state v1alpha1.ServerState, serial int64) v1alpha1.DeliveryServer {
		return v1alpha1.DeliveryServer{Name: name, State: state, Serial: serial}
	}
	put("late", time.Minute, 7, map[string]int64{"main": 6, "quick": 7}, row("a", v1alpha1.ServerCurrent, 7),
		row("b", v1alpha1.ServerFailed, 0))
	put("later", time.Hour, 7, map[string]int64{"main": 6}, row("a", v1alpha1.ServerBehind, 6), row("b", v1alpha1.ServerBehind, 5))
	put("paused", time.Minute, 7, map[string]int64{"main": 6}, row("c", v1alpha1.ServerCurrent, 6))
	put("well", 0, 7, map[string]int64{"main": 7, "idle": 7}, row("c", v1alpha1.ServerCurrent, 7))
	put("unsettled", 2*time.Hour, 0, map[string]int64{"main": 0})
	put("later", time.Second, 7, map[string]int64{"main": 6}, row("a", v1alpha1.ServerBehind, 6), row("b", v1alpha1.ServerBehind, 5))
	for _, serial := range []int64{7, 8} { // a zone that changes steadily
		put("steady", time.Hour, serial+1, map[string]int64{"idle": serial})
	}
	l.resetTracker() // as when the watch of Records begins again
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(registry)
	for _, elected := range []*leader{nil, l} {
		m.leader.Store(elected)
		got := map[string]float64{}
		for _, family := range must.Get(registry.Gather())(t) {
			for _, one := range family.GetMetric() {
				switch value := one.GetGauge().GetValue(); family.GetName() {
				case "kubizone_delivery_oldest_change_seconds":
					got["minutes "+one.GetLabel()[0].GetValue()] = math.Floor(value / 60)
				case "kubizone_delivery_secondaries_behind":
					got["behind "+one.GetLabel()[0].GetValue()] = value
				}
			}
		}
		want := map[string]float64{}
		if elected != nil {
			want = map[string]float64{"minutes main": 120, "minutes quick": 0, "minutes idle": 0,
				"behind main": 2, "behind quick": 1, "behind idle": 0}
		}
		if !maps.Equal(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

// The oldest change that a class lacks is the first after the confirmed one. A change made while the class delivered an
// earlier one keeps its age.
func TestFindLags_afterAConfirmationOfAnEarlierChange(t *testing.T) {
	ago := func(minutes int) time.Time { return time.Now().Add(-time.Duration(minutes) * time.Minute) }
	for _, row := range []struct {
		what      string
		confirmed serial.Serial
		want, n   int // minutes, and settlements kept
	}{
		{"the first", 6, 10, 1}, {"none", 5, 30, 2}, {"none that is known", 0, 30, 2}, {"all", 7, -1, 1},
	} {
		before := &Progress{settlements: []settlement{{5, ago(60)}, {6, ago(30)}, {7, ago(10)}},
			lags: map[string]lag{"main": {confirmed: 5, since: ago(30)}}}
		f := &Facts{Zone: &v1alpha1.Zone{Status: v1alpha1.ZoneStatus{SettledSerial: 7}},
			Classes: []ClassFacts{{Class: "main", State: delivery.State{Serial: row.confirmed}}}}
		lags, settlements := f.findLags(before)
		got := -1
		if since := lags["main"].since; !since.IsZero() {
			got = int(time.Since(since).Minutes())
		}
		if got != row.want || len(settlements) != row.n {
			t.Errorf("%s is confirmed: %d minutes, want %d; %d settlements, want %d", row.what, got, row.want, len(settlements), row.n)
		}
	}
	// A class that lacks everything for days.
	progress := &Progress{}
	f := &Facts{Zone: &v1alpha1.Zone{}, Classes: []ClassFacts{{Class: "main", State: delivery.State{Serial: 1}}}}
	for range 10_000 {
		f.Zone.Status.SettledSerial++
		progress.lags, progress.settlements = f.findLags(progress)
	}
	if n := len(progress.settlements); n > maxSettlements || progress.settlements[0].serial > 3 {
		t.Errorf("%d settlements, the first of serial %d", n, progress.settlements[0].serial)
	}
}

// A server at its first judgement knows no time of a change. The zone had everything until Ready was lost, and a class
// until its last confirmation: the age begins at the later of both.
func TestFindLags_atTheFirstJudgement(t *testing.T) {
	ago := func(minutes int) time.Time { return time.Now().Add(-time.Duration(minutes) * time.Minute) }
	f := &Facts{Zone: &v1alpha1.Zone{Status: v1alpha1.ZoneStatus{SettledSerial: 7}}}
	setUnknown(&f.Zone.Status.Conditions, v1alpha1.ReasonPending, ago(60))
	want := map[string]int{"failing for an hour": 60, "never confirmed": 60, "confirmed since": 2, "up to date": -1}
	for class, state := range map[string]delivery.State{
		"failing for an hour": {Serial: 6, SyncTime: ago(90)}, "never confirmed": {},
		"confirmed since": {Serial: 6, SyncTime: ago(2)}, "up to date": {Serial: 7, SyncTime: ago(1)},
	} {
		f.Classes = append(f.Classes, ClassFacts{Class: class, State: state})
	}
	lags, _ := f.findLags(nil)
	for class, minutes := range want {
		got := -1
		if since := lags[class].since; !since.IsZero() {
			got = int(time.Since(since).Minutes())
		}
		if got != minutes {
			t.Errorf("%s: %d minutes, want %d", class, got, minutes)
		}
	}
}
