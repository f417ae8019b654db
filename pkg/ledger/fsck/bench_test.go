// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"kubi.zone/kubizone/test/store"
)

// BenchmarkRun checks one zone of 10,000 records and its journal. The heap is
// that of the whole process, etcd included: a bound, not the check's own.
func BenchmarkRun(b *testing.B) {
	const records = 10000
	st := store.New(b)
	s := st.Server()
	s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < records; i += 16 {
				store.Must(s.CreateRecord(b.Context(), store.Record("team-a", fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")))
			}
		})
	}
	wg.Wait()
	st.Settle()
	for b.Loop() {
		if r := st.Fsck(); !r.Clean() || r.Steps < records {
			b.Fatal(store.Text(r))
		}
	}
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/records, "µs/record")
	b.ReportMetric(float64(heap.HeapSys)/records, "heap-B/record")
}
