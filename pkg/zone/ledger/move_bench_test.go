// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

var movedRecords = flag.Int("moved-records", 500, "Records of the zone that BenchmarkMove makes, deletes and ends")

// BenchmarkMove creates a zone above Records, deletes, recreates and ends the zone (S2.10), first alone, then beside a
// neighbour's creates in the zone above and elsewhere.
func BenchmarkMove(b *testing.B) {
	// This etcd is compacted only here, and is large enough for a whole move.
	st := store.On(b, store.Fresh(b, func(c *embed.Config) { c.QuotaBackendBytes = 16 << 30 }), "/registry/kubizone")
	s := st.Server(setTryEvery(0)) // with rounds, as in production
	s.Run()
	ctx := b.Context()
	zones := v1alpha1.DelegationRule{Namespace: "team", Zones: []string{"*"}}
	top := func(delegated bool) []v1alpha1.DelegationRule {
		rules := []v1alpha1.DelegationRule{store.Allow("team", "*"), store.Allow("neighbour", "n*")}
		if delegated {
			rules = append(rules, zones)
		}
		return rules
	}
	for _, zone := range []string{"big", "other"} {
		store.Must(s.CreateZone(store.Zone("infra", zone, zone+".example.", top(true)...)))
	}
	st.Settle()
	var next atomic.Int64
	var writers sync.WaitGroup
	for range 16 {
		writers.Go(func() {
			for i := next.Add(1); i <= int64(*movedRecords); i = next.Add(1) {
				name := fmt.Sprint("a", i)
				store.Must(s.CreateRecord(ctx, store.Record("team", name, name+".kid.big.example.", "A", "192.0.2.1")))
			}
		})
	}
	writers.Wait()

	figures := map[string][]float64{}
	add := func(what string, d time.Duration) { figures[what] = append(figures[what], d.Seconds()*1e3) }
	latest := func(what string) float64 { return figures[what][len(figures[what])-1] }
	p99 := func(what string) float64 {
		sorted := slices.Sorted(slices.Values(figures[what]))
		return sorted[(len(sorted)-1)*99/100]
	}
	made := 0
	create := func(zone, what string) {
		made++
		name := fmt.Sprint("n", made)
		began := time.Now()
		store.Must(s.CreateRecord(ctx, store.Record("neighbour", name, name+"."+zone+".example.", "A", "192.0.2.2")))
		add(what+" "+zone, time.Since(began))
	}
	keys := layout.Keys{Prefix: st.Prefix}
	isLocked := func() bool {
		r := must.Get(st.Client.Client.Get(ctx, keys.Room("names"), clientv3.WithPrefix()))(b)
		for _, kv := range r.Kvs {
			var h law.Holding
			must.Succeed(b, json.Unmarshal(kv.Value, &h))
			if slices.ContainsFunc(h.Works, func(w law.CascadeMark) bool { return !w.Locks.IsZero() }) {
				return true
			}
		}
		return false
	}
	move := func(what string, beside bool, do func(), zone string) {
		if beside {
			for range 300 {
				create("big", what+" alone")
				create("other", what+" alone")
			}
		}
		began := time.Now()
		do()
		add(what+" answered", time.Since(began))
		var through atomic.Bool
		var watch sync.WaitGroup
		watch.Go(func() {
			defer through.Store(true)
			var locked time.Time
			for now := isLocked(); now || locked.IsZero() && !st.Quiet(); now = isLocked() {
				if now && locked.IsZero() {
					locked = time.Now()
				}
				time.Sleep(5 * time.Millisecond)
			}
			if locked.IsZero() {
				locked = time.Now()
			}
			add(what+" lock", time.Since(locked))
			for !st.Quiet() {
				time.Sleep(20 * time.Millisecond)
			}
			add(what+" cascade", time.Since(began))
		})
		for beside && !through.Load() {
			create("big", what+" beside")
			create("other", what+" beside")
		}
		watch.Wait()
		for _, name := range []string{"a1", fmt.Sprint("a", *movedRecords)} {
			if ref := s.Record("team", name).Status.ZoneRef; ref == nil || ref.Name != zone {
				b.Fatalf("%s: %s is in %+v", what, name, ref)
			}
		}
		b.Logf("%s, beside a neighbour %v: answered after %.0f ms, locked for %.2f s, through after %.2f s", what, beside,
			latest(what+" answered"), latest(what+" lock")/1e3, latest(what+" cascade")/1e3)
		for _, zone := range []string{"big", "other"} {
			if beside {
				b.Logf("the neighbour's p99 in zone %s: %.1f ms alone, %.1f ms beside it", zone, p99(what+" alone "+zone),
					p99(what+" beside "+zone))
			}
		}
		r := must.Get(st.Client.Client.Get(ctx, "x"))(b)
		must.Get(st.Client.Client.Compact(ctx, r.Header.Revision))(b)
	}
	make := func(what string, beside bool) {
		move(what, beside, func() {
			store.Must(s.CreateZone(store.Zone("team", "kid", "kid.big.example.", store.Allow("team", "*"))))
		}, "kid")
	}
	for b.Loop() {
		for _, beside := range []bool{false, true} {
			what := map[bool]string{true: "", false: "quiet-"}[beside]
			make(what+"make", beside)
			move(what+"delete", beside, func() { must.Succeed(b, s.DeleteZone("team", "kid")) }, "big")
			make(what+"make", beside)
			rule := func(delegated bool) {
				store.Must(s.UpdateZone("infra", "big", func(z *v1alpha1.Zone) { z.Spec.Delegations = top(delegated) }))
			}
			move(what+"end", beside, func() { rule(false) }, "big")
			must.Succeed(b, s.DeleteZone("team", "kid"))
			rule(true)
			for !st.Quiet() {
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
	for _, what := range []string{"make", "delete", "end"} {
		for _, part := range []string{"answered", "lock", "cascade"} {
			b.ReportMetric(p99("quiet-"+what+" "+part), "quiet-"+what+"-"+part+"-ms")
			b.ReportMetric(p99(what+" "+part), what+"-"+part+"-ms")
		}
		for _, zone := range []string{"big", "other"} {
			b.ReportMetric(p99(what+" alone "+zone), what+"-"+zone+"-alone-p99-ms")
			b.ReportMetric(p99(what+" beside "+zone), what+"-"+zone+"-p99-ms")
			b.ReportMetric(p99(what+" beside "+zone)/p99(what+" alone "+zone), what+"-"+zone+"-ratio")
		}
	}
}
