// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

// Silent agents and servers take the slots of their own namespaces only. When they answer, each waiting zone is
// reconciled.
func TestRun_isSharedByNamespaces_S12_11(t *testing.T) {
	const platform, team = "platform", "team"
	var objects []runtime.Object
	add := func(namespace, title, signer string) {
		zone, one := zoneOf(namespace, "", v1alpha1.DNSClassReference{Name: "public"}, 0)
		zone.Name, zone.UID, one.Name = title, types.UID(namespace+"/"+title), title+"-1"
		one.Spec.Zone = v1alpha1.DeliveredZone{Name: title, UID: zone.UID}
		zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: zone.Status.FQDN, Phase: v1alpha1.DNSSECSigned, Signer: &v1alpha1.ZoneSigner{Namespace: signer, Name: "s"}}
		objects = append(objects, zone, one)
	}
	const most = 2 * workers
	for i := range most {
		add(team, fmt.Sprintf("z%d", i), team)
		add(fmt.Sprintf("customer%d", i), "z", platform)
	}
	add("victim", "z", "victim")

	c := newController(t, func([]string, name.Name) string { return "" }, objects...)
	var mu sync.Mutex
	underWay, highest, seen := map[string]int{}, map[string]int{}, map[string]bool{}
	released, victim := make(chan struct{}), make(chan struct{}, 1000)
	progress := make(chan struct{}, 1000)
	c.InForce = func(zone *v1alpha1.Zone) []*v1alpha1.DNSClass {
		if zone.Namespace == "victim" {
			victim <- struct{}{}
			return nil
		}
		signer := zone.Status.DNSSEC.Signer.Namespace
		mu.Lock()
		underWay[signer]++
		highest[signer] = max(highest[signer], underWay[signer])
		mu.Unlock()
		<-released
		mu.Lock()
		underWay[signer]--
		seen[zone.Namespace+"/"+zone.Name] = true
		mu.Unlock()
		progress <- struct{}{}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	release := sync.OnceFunc(func() { close(released) })
	defer running.Wait()
	defer cancel()
	defer release()

	late := time.After(2 * time.Minute)
	select {
	case <-victim:
	case <-late:
		t.Fatal("looks at zones of other namespaces, which do not end, hold all workers")
	}
	release()
	for {
		mu.Lock()
		all, done := maps.Clone(highest), len(seen) == 2*most
		mu.Unlock()
		if all[team] > placesOfZones || all[platform] > placesOfSigners {
			t.Fatalf("looks at the same time, by the namespace of the signer: %v", all)
		}
		if done {
			return
		}
		select {
		case <-progress:
		case <-late:
			mu.Lock()
			defer mu.Unlock()
			t.Fatalf("%d of %d zones were looked at", len(seen), 2*most)
		}
	}
}

// A woken zone that no longer exists passes its slots on.
func TestPlaces_passOn(t *testing.T) {
	var woken []cache.ObjectName
	p := places{wake: func(zone cache.ObjectName) { woken = append(woken, zone) }, inUse: map[place]int{},
		byZone: map[cache.ObjectName][]place{}}
	needed := []place{{namespace: "team"}, {namespace: "platform", ofSigner: true}}
	of := func(name string) cache.ObjectName { return cache.ObjectName{Namespace: "team", Name: name} }
	if !p.takePlaces(of("a"), needed) || p.takePlaces(of("b"), needed) || p.takePlaces(of("b"), needed) || p.takePlaces(of("c"), needed) {
		t.Fatal("two looks in one namespace")
	}
	p.returnPlaces(of("x"))
	p.returnPlaces(of("a"))
	p.returnPlaces(of("b"))
	if fmt.Sprint(woken) != "[team/b team/c]" || !p.takePlaces(of("c"), needed) {
		t.Errorf("woken: %v", woken)
	}
	p.returnPlaces(of("c"))
	if len(p.inUse)+len(p.byZone)+len(p.waiting) > 0 {
		t.Errorf("left: %+v", &p)
	}
}
