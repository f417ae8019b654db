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
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/zoneview"
)

// TestDriftInterval_countsServers: a comparison costs a question to each server of a zone. A class asks no more than
// half of its requestsPerSecond, and all classes that say nothing ask no more than allPerSecond together. The interval
// is the shortest one that keeps this of those that are twice as long as the one before.
func TestDriftInterval_countsServers(t *testing.T) {
	informer := func(of runtime.Object, by cache.Indexers) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(&cache.ListWatch{}, of, 0, by)
	}
	x := &index{
		classes:    informer(&v1alpha1.DNSClass{}, nil),
		deliveries: informer(&v1alpha1.Delivery{}, cache.Indexers{byClass: indexBy(func(one *v1alpha1.Delivery) string { return one.Spec.ClassRef.Name })}),
	}
	loop, err := delivery.New(delivery.Config{Identity: "me", Views: zoneview.NewSet(zoneview.Config{}), Store: &store{}})
	if err != nil {
		t.Fatal(err)
	}
	c := &classSync{shared: &shared{index: x, loop: loop}, known: map[string]*knownClass{}, questions: map[string]int{}}
	fetched, called := delivery.Abilities{Fetched: true}, delivery.Abilities{}
	of := func(name string, spec v1alpha1.DNSClassSpec, zones, servers int) *v1alpha1.DNSClass {
		class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
		if err := x.classes.GetIndexer().Add(class); err != nil {
			t.Fatal(err)
		}
		for i := range zones {
			one := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(name, i)}, Spec: v1alpha1.DeliverySpec{ClassRef: v1alpha1.DNSClassReference{Name: name}}}
			one.Status.Servers = make([]v1alpha1.DeliveryServer, servers)
			if err := x.deliveries.GetIndexer().Add(one); err != nil {
				t.Fatal(err)
			}
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
		// 100 zones at 100 servers are 10,000 questions, at 25 a second.
		{of("wide", v1alpha1.DNSClassSpec{}, 100, 100), fetched, 8 * time.Minute},
		// Of 10,000 questions at 5,000 a second each class may ask its own in two seconds. All are 20,060.
		{of("fast", v1alpha1.DNSClassSpec{RequestsPerSecond: ptr.To[int32](10_000)}, 100, 100), fetched, 2 * time.Minute},
		{small, fetched, 2 * time.Minute},
	} {
		if got := c.driftInterval(test.class, test.can); got != test.want {
			t.Errorf("%s: each zone once in %s, want %s", test.class.Name, got, test.want)
		}
	}
	for _, name := range []string{"wide", "fast"} {
		c.tellMissing(name)
	}
	if got := c.driftInterval(small, fetched); got != time.Minute {
		t.Errorf("without the others: %s", got)
	}
}
