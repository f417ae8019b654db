// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// BenchmarkCreate creates a tenant's Records in a zone in sequence. The figures include etcd, in the same process.
func BenchmarkCreate(b *testing.B) {
	st := store.On(b, store.Fresh(b), "/registry/kubizone")
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("team", "*"))))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprint("r", i)
		store.Must(s.CreateRecord(b.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
	}
}

// BenchmarkCreate_pairs alternately creates Records in a zone with history and in a zone without; -benchtime 10x runs
// ten pairs.
func BenchmarkCreate_pairs(b *testing.B) {
	const each = 200
	st := store.On(b, store.Fresh(b), "/registry/kubizone")
	s := st.Server()
	for name, retention := range map[string]*metav1.Duration{"on": nil, "off": {}} {
		z := store.Zone("infra", name, name+".org.", store.Allow("team", "*"))
		z.Spec.HistoryRetention = retention
		store.Must(s.CreateZone(z))
	}
	created := 0
	measure := func(zone string) (took time.Duration, allocations uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		for range each {
			created++
			name := fmt.Sprint("r", created)
			r := store.Record("team", name, fmt.Sprintf("%s.%s.org.", name, zone), "A", "192.0.2.1")
			store.Must(s.CreateRecord(b.Context(), r))
		}
		took = time.Since(began)
		runtime.ReadMemStats(&after)
		return took, after.Mallocs - before.Mallocs
	}
	measure("on")
	measure("off")
	var ratios, more []float64
	for i := 0; b.Loop(); i++ {
		times, allocations := map[string]time.Duration{}, map[string]uint64{}
		for _, zone := range [][]string{{"on", "off"}, {"off", "on"}}[i%2] {
			times[zone], allocations[zone] = measure(zone)
		}
		ratios = append(ratios, float64(times["on"])/float64(times["off"]))
		more = append(more, (float64(allocations["on"])-float64(allocations["off"]))/each)
	}
	slices.Sort(ratios)
	slices.Sort(more)
	b.ReportMetric(ratios[len(ratios)/2], "times")
	b.ReportMetric(more[len(more)/2], "more-allocs")
}

// BenchmarkUpdate updates a Record for each of several callers in one zone. The Records have annotations of 4 KiB, or
// few.
func BenchmarkUpdate(b *testing.B) {
	for name, x := range map[string]struct {
		note      string
		retention *metav1.Duration
	}{"short": {}, "long": {note: noteOf(4 << 10)}, "long-unkept": {noteOf(4 << 10), &metav1.Duration{}}} {
		b.Run(name, func(b *testing.B) {
			st := store.On(b, store.Fresh(b), "/registry/kubizone")
			s := st.Server(archiveAfter(0))
			z := store.Zone("infra", "top", "example.org.", store.Allow("team", "*"))
			z.Spec.HistoryRetention = x.retention
			store.Must(s.CreateZone(z))
			const callers = 16
			for c := range callers {
				r := recordAt("team", fmt.Sprint("r", c))
				r.Annotations = map[string]string{"note": x.note}
				store.Must(s.CreateRecord(b.Context(), r))
			}
			var next atomic.Int64
			b.ReportAllocs()
			b.ResetTimer()
			runParallel(callers, func(c int) {
				for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
					store.Must(s.UpdateRecord(b.Context(), "team", fmt.Sprint("r", c), func(r *v1alpha1.Record) {
						r.Spec.Values[0] = fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)
					}))
				}
			})
		})
	}
}

func noteOf(n int) string {
	var text strings.Builder
	for i := 0; text.Len() < n; i++ {
		fmt.Fprintf(&text, "word%d ", i*i)
	}
	return text.String()
}

// BenchmarkCreate_manyZones creates Records for callers that have a zone each, or share four zones, with commits of 10
// ms and an etcd that accepts 128 operations.
func BenchmarkCreate_manyZones(b *testing.B) {
	for _, commit := range []time.Duration{0, 10 * time.Millisecond} {
		for _, x := range [][2]int{{16, 1}, {64, 4}, {16, 16}, {64, 64}} {
			callers, n := x[0], x[1]
			b.Run(fmt.Sprintf("%d-callers-%d-zones-%s", callers, n, commit), func(b *testing.B) {
				st := store.On(b, store.Fresh(b, func(c *embed.Config) {
					if commit > 0 {
						c.MaxTxnOps = embed.DefaultMaxTxnOps
					}
				}), "/registry/kubizone")
				s := st.Server(func(c *ledger.Config) {
					c.OnFault = func(point string) {
						if point == "before-commit" {
							time.Sleep(commit)
						}
					}
				})
				for z := range n {
					store.Must(s.CreateZone(store.Zone("infra", fmt.Sprint("z", z), fmt.Sprintf("z%d.org.", z), store.Allow("team", "*"))))
				}
				var next atomic.Int64
				b.ReportAllocs()
				b.ResetTimer()
				var all sync.WaitGroup
				for c := range callers {
					all.Go(func() {
						for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
							name := fmt.Sprint("r", i)
							store.Must(s.CreateRecord(b.Context(), store.Record("team", name, fmt.Sprintf("%s.z%d.org.", name,
								c%n), "A", "192.0.2.1")))
						}
					})
				}
				all.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
			})
		}
	}
}

// BenchmarkCreate_besideReservedNames compares creates in a zone with a single reserved name and in a zone with
// thousands, each reserved by a Delegation.
func BenchmarkCreate_besideReservedNames(b *testing.B) {
	st := store.On(b, store.Fresh(b), "/registry/kubizone")
	s := st.Server()
	n := scaleTo(10_000, 2_000)
	for zone, delegations := range map[string]int{"one": 1, "many": n} {
		store.Must(s.CreateZone(store.Zone("infra", zone, zone+".org.", store.Allow("team", "*"))))
		runParallel(16, func(w int) {
			for i := w; i < delegations; i += 16 {
				d := store.Delegation("infra", fmt.Sprint(zone, i), zone, []string{fmt.Sprint("t", i)}, fmt.Sprint("own", i),
					fmt.Sprintf("*.own%d", i))
				store.Must(s.CreateDelegation(d))
			}
		})
	}
	var spent [2]time.Duration
	b.ResetTimer()
	for i := range b.N {
		for at, zone := range []string{"one", "many"} {
			name := fmt.Sprint("r", i)
			began := time.Now()
			store.Must(s.CreateRecord(b.Context(), store.Record("team", name+zone, "x."+name+"."+zone+".org.", "A", "192.0.2.1")))
			spent[at] += time.Since(began)
		}
	}
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "of-one")
}
