// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/delivery/plan"
	"kubi.zone/kubizone/pkg/delivery/schedule"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

// TestDriftInterval_countsServers: a comparison queries each server of a zone. The queries of a class stay within half
// of its requestsPerSecond, and those of all DNSClasses without driftInterval within allPerSecond. Bind9Clusters have
// another allPerSecond, so zones of a tenant delay neither the platform nor other tenants. The interval doubles until
// the queries fit.
func TestDriftInterval_countsServers(t *testing.T) {
	informer := func(of runtime.Object) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(&cache.ListWatch{}, of, 0, cache.Indexers{})
	}
	x := &objects.Index{Zones: informer(&v1alpha1.Zone{}), Classes: informer(&v1alpha1.DNSClass{}), Deliveries: informer(&v1alpha1.Delivery{})}
	must.Succeed(t, x.Prepare())
	source := plan.Source{Views: zoneview.NewSet(zoneview.Config{})}
	loop := schedule.New(schedule.Config{Identity: "me", Source: source, Store: &store{}})
	c := &classSync{shared: &shared{index: x, queue: newQueue(), loop: loop}, known: map[string]*knownClass{},
		questions: newQuestions()}
	defer c.queue.ShutDown()
	fetched, called := delivery.Abilities{Fetched: true}, delivery.Abilities{}
	of := func(name string, spec v1alpha1.DNSClassSpec, zones, servers int) *v1alpha1.DNSClass {
		class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
		must.Succeed(t, x.Classes.GetIndexer().Add(class))
		for i := range zones {
			one := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(name, i)}, Spec: v1alpha1.DeliverySpec{ClassRef: apiclass.RefOf(name)}}
			one.Namespace, _, _ = apiclass.SplitCluster(name)
			one.Status.Servers = make([]v1alpha1.DeliveryServer, servers)
			must.Succeed(t, x.Deliveries.GetIndexer().Add(one))
		}
		return class
	}
	hour := &metav1.Duration{Duration: time.Hour}
	small := of("small", v1alpha1.DNSClassSpec{}, 10, 3)
	for _, test := range []struct {
		class *v1alpha1.DNSClass
		can   delivery.Abilities
		want  time.Duration
	}{
		{small, fetched, time.Minute},
		{of("webhook", v1alpha1.DNSClassSpec{}, 10, 0), called, v1alpha1.DefaultDriftInterval},
		{of("big webhook", v1alpha1.DNSClassSpec{RequestsPerSecond: ptr.To[int32](1)}, 2000, 0), called, 2 * time.Hour},
		{of("hourly", v1alpha1.DNSClassSpec{DriftInterval: hour}, 10, 3), fetched, time.Hour},
		// 100 zones at 100 servers need 10,000 queries, at 25 a second.
		{of("wide", v1alpha1.DNSClassSpec{}, 100, 100), fetched, 8 * time.Minute},
		// At 5,000 a second, 10,000 queries of this class need two seconds. All classes have 20,060 queries.
		{of("fast", v1alpha1.DNSClassSpec{RequestsPerSecond: ptr.To[int32](10_000)}, 100, 100), fetched, 2 * time.Minute},
		{small, fetched, 2 * time.Minute},
		// At 250 a second, the 30,000 queries of one namespace need two minutes. A cluster alone needs seven: half of
		// its requestsPerSecond is 25 a second.
		{of("greedy/a", v1alpha1.DNSClassSpec{}, 100, 100), fetched, 8 * time.Minute},
		{of("greedy/b", v1alpha1.DNSClassSpec{}, 100, 100), fetched, 8 * time.Minute},
		{of("greedy/c", v1alpha1.DNSClassSpec{}, 100, 100), fetched, 8 * time.Minute},
		{of("team/edge", v1alpha1.DNSClassSpec{}, 10, 3), fetched, time.Minute},
		{small, fetched, 2 * time.Minute},
		// Of two namespaces, the larger has 125 a second as its equal share, and nearly 125 by its number of queries.
		{of("greedy/d", v1alpha1.DNSClassSpec{}, 1, 1), fetched, 4 * time.Minute},
	} {
		if got := c.driftInterval(test.class, test.can); got != test.want {
			t.Errorf("%s: each zone once in %s, want %s", test.class.Name, got, test.want)
		}
	}
	for _, name := range []string{"wide", "fast", "greedy/a", "greedy/b", "greedy/c", "team/edge"} {
		c.setMissing(name)
	}
	if got := c.driftInterval(small, fetched); got != time.Minute {
		t.Errorf("without the others: %s", got)
	}
	if got := c.driftInterval(of("greedy/d", v1alpha1.DNSClassSpec{}, 0, 0), fetched); got != time.Minute || c.questions.ofClusters != 1 || len(c.questions.byNamespace) != 1 {
		t.Errorf("alone: %s, %+v", got, c.questions)
	}
}

// Questions to servers are limited by allPerSecond in all. The namespaces together use the whole rate, and each gets at
// least half of an equal share, however many questions others have.
func TestQuestions_shares(t *testing.T) {
	for _, numbers := range [][]int{{1}, {7, 7}, {1, 1_600_000}, {3, 40, 500, 6000, 70_000}, {1 << 30, 1 << 30, 1}} {
		q, all := newQuestions(), 0.0
		for i, n := range numbers {
			for range 2 {
				q.setNumber(fmt.Sprintf("n%d/a", i), n)
			}
		}
		for i, n := range numbers {
			rate := float64(n) / q.findInterval(fmt.Sprintf("n%d/b", i)).Seconds()
			if all += rate; rate < 0.999*allPerSecond/2/float64(len(numbers)) {
				t.Errorf("%d of %d: %f a second", i, numbers, rate)
			}
		}
		if all < 0.999*allPerSecond || all > 1.001*allPerSecond {
			t.Errorf("%d: %f a second together", numbers, all)
		}
		for i := range numbers {
			q.setNumber(fmt.Sprintf("n%d/a", i), 0)
		}
		if len(q.byClass)+len(q.byNamespace)+q.ofClusters > 0 || q.findInterval("n0/a") != 0 {
			t.Errorf("%+v is left", q)
		}
	}
}
