// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// BenchmarkHotZone is the writing of one zone by many at once, through storage and
// etcd without an API server around them. "plain" writes the same objects past
// the ledger: what ÷ it is left of a server's time is what a hot zone costs.
func BenchmarkHotZone(b *testing.B) {
	st := store.New(b)
	s := st.Server()
	s.Run()
	store.Must(s.CreateZone(store.Zone("platform", "hot", "hot.example.", store.Allow("tenant", "*"))))
	past := store.New(b, store.Unchecked).Server()
	past.Records = ledger.Storage(past.Records)
	made := map[string]int{} // names are of one benchmark, whatever b.N it is tried with
	for _, callers := range []int{1, 16, 64} {
		for _, write := range []string{"create", "update", "delete"} {
			for arm, records := range map[string]*store.Server{"zone": s, "plain": past} {
				b.Run(fmt.Sprintf("%s/%d/%s", write, callers, arm), func(b *testing.B) {
					made[b.Name()]++
					name := func(i int) string {
						return fmt.Sprintf("%.1s-%.1s-%02d-%02d-%06d", arm, write, callers, made[b.Name()], i)
					}
					create := func(i int) error {
						_, err := records.CreateRecord(context.Background(), store.Record("tenant", name(i), name(i)+".hot.example.", "A", "10.0.0.1"))
						return err
					}
					do := create
					switch write {
					case "update":
						do = func(i int) error {
							_, err := records.UpdateRecord(context.Background(), "tenant", name(i), func(r *v1alpha1.Record) { r.Spec.Values[0] = "11.0.0.1" })
							return err
						}
					case "delete":
						do = func(i int) error { return records.DeleteRecord(context.Background(), "tenant", name(i)) }
					}
					var failed atomic.Value
					all := func(do func(int) error) {
						var next atomic.Int64
						parallel(callers, func(int) {
							for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
								if err := do(i); err != nil {
									failed.Store(err)
								}
							}
						})
					}
					if write != "create" {
						all(create)
					}
					runtime.GC()
					before, sent := cpu(), s.Ledger.Stats().Transactions.Load()
					b.ReportAllocs()
					b.ResetTimer()
					all(do)
					b.StopTimer()
					if err := failed.Load(); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(cpu()-before)/float64(time.Microsecond)/float64(b.N), "cpu-µs/op")
					b.ReportMetric(float64(s.Ledger.Stats().Transactions.Load()-sent)/float64(b.N), "decisions/op")
				})
			}
		}
	}
}

// cpu is what this process has used, etcd in it too.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for a wrong argument only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
