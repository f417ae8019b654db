// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

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
