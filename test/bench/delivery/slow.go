// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/bench/figures"
)

// Two classes of the same zones: one answers, the other lets every call run into its timeout, or is paused.
const (
	healthy = "healthy"
	stuck   = "stuck"
	alone   = "alone"
	beside  = "beside"
)

const (
	// slowZones are delivered by both classes, so that the one that is stuck has so many items.
	slowZones = 20
	// slowRate is what many zones are changed at, a second: each change is a delivery of its own, because none waits
	// for another of its zone, and the server must not be what is measured.
	slowRate = 20
)

// slow measures a class alone and beside one whose every call times out after ten seconds, in turn.
func (s *stage) slow(ctx context.Context, into *figures.Results) error {
	u, err := s.up(ctx, "slow")
	if err != nil {
		return err
	}
	defer u.stop()
	good, bad := newSink(), newSink()
	bad.hold = make(chan struct{})
	defer good.Close()
	defer bad.Close()
	defer close(bad.hold)
	for name, sink := range map[string]*sink{healthy: good, stuck: bad} {
		if err := u.class(ctx, name, v1alpha1.DNSClassSpec{
			RequestsPerSecond: ptr.To[int32](10_000), Paused: name == stuck,
			Webhook: &v1alpha1.WebhookProvider{Server: sink.URL, TimeoutSeconds: ptr.To[int32](10)},
		}); err != nil {
			return err
		}
	}
	zone := func(i int) string { return fmt.Sprint("z", i) }
	for i := range slowZones {
		if err := u.zone(ctx, zone(i), domain(zone(i)), healthy, stuck); err != nil {
			return err
		}
	}
	each := max(2, s.plan.Zone/slowZones)
	hosts := each * slowZones
	// A host is one record of one zone.
	a := &arm{name: healthy, came: good.came, change: func(ctx context.Context, i int, data string) error {
		return u.change(ctx, zone(i%slowZones), i, data)
	}}
	if _, _, err := figures.Callers(ctx, fillers, hosts, func(ctx context.Context, i int) error {
		_, err := u.api.Records(namespace).Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: recordObject(zone(i%slowZones), i)}, Spec: v1alpha1.RecordSpec{
			DomainName: host(i), ZoneRef: &v1alpha1.ZoneReference{Name: zone(i % slowZones)}, Type: "A", RData: address(0, i),
		}}, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	if _, err := a.lone(ctx, hosts, 2); err != nil {
		return err
	}
	set := func(paused bool) error {
		_, err := u.api.DNSClasses().Patch(ctx, stuck, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"paused":%t}}`, paused), metav1.PatchOptions{})
		return err
	}
	for round := range s.plan.Rounds {
		order := []string{alone, beside}
		if round%2 == 1 {
			order = []string{beside, alone}
		}
		got := map[string]sample{}
		for _, with := range order {
			if err := set(with == alone); err != nil {
				return err
			}
			if err := eventually(ctx, "calls of the class that is stuck are as they should be", func() (bool, error) {
				return (bad.holding() > 0) == (with == beside), nil
			}); err != nil {
				return err
			}
			before, err := u.writes(ctx)
			if err != nil {
				return err
			}
			made := a.made
			for load, measure := range map[string]func() (sample, error){
				atOnce: func() (sample, error) { return a.lone(ctx, hosts, s.plan.Lone) },
				atRate: func() (sample, error) {
					return a.steady(ctx, hosts, min(hosts, max(slowZones, s.plan.Steady/5)), slowRate)
				},
			} {
				if got[with+"/"+load], err = measure(); err != nil {
					return err
				}
			}
			after, err := u.writes(ctx)
			if err != nil {
				return err
			}
			changes := float64(a.made - made)
			into.Add("slow/"+with+"/writes", "writes/change", (float64(total(since(before, after)))-changes)/changes)
			if with == beside {
				into.Add("slow/held", "calls", float64(bad.holding()))
			}
		}
		for _, load := range []string{atOnce, atRate} {
			for _, of := range quantiles {
				over, under := got[beside+"/"+load].quantile(of.q), got[alone+"/"+load].quantile(of.q)
				into.Add("slow/"+beside+"/"+load+"/"+of.name, "ms", over)
				into.Add("slow/"+alone+"/"+load+"/"+of.name, "ms", under)
				into.Add("slow/"+load+"/"+of.name, "×", over/under)
			}
		}
	}
	bad.mu.Lock()
	defer bad.mu.Unlock()
	into.Add("slow/timeouts", "calls", float64(bad.gaveUp))
	return nil
}
