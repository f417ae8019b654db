// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// BenchmarkNewZone_beside creates a zone from time to time, beside 48 callers in other namespaces that create
// standalone zones, or children of one zone. The benchmark reports the longest time until the zone is settled, the
// longest time until the answer, before which the zone above has counted its name servers (S6.4), and the callers'
// zones per second.
func BenchmarkNewZone_beside(b *testing.B) {
	const callers, lone = 48, 8
	for _, parent := range []string{"", "org."} {
		b.Run(cmp.Or(parent, "standalone"), func(b *testing.B) {
			st := store.On(b, store.Fresh(b), "/registry/kubizone")
			st.Damaged = true // fsck of so many zones takes minutes
			s := st.Server()
			b.Cleanup(s.Run())
			if parent != "" {
				store.Must(s.CreateZone(store.Zone("infra", "top", parent, v1alpha1.DelegationRule{Zones: []string{"*"}})))
			}
			ctx, stop := context.WithCancel(b.Context())
			var made atomic.Int64
			var all sync.WaitGroup
			began := time.Now()
			for range callers {
				all.Go(func() {
					for ctx.Err() == nil {
						n := made.Add(1)
						store.Must(s.CreateZone(store.Zone(fmt.Sprint("team", n%100), fmt.Sprint("z", n), fmt.Sprintf("z%d.org.", n))))
					}
				})
			}
			var settled, answered time.Duration
			for i := range lone {
				time.Sleep(500 * time.Millisecond)
				name, at := fmt.Sprint("lone", i), time.Now()
				answer := make(chan time.Duration)
				go func() {
					store.Must(s.CreateZone(store.Zone("alone", name, name+".org.")))
					answer <- time.Since(at)
				}()
				z, get := &v1alpha1.Zone{}, storage.GetOptions{IgnoreNotFound: true}
				for ; z.Status.SettledSerial == 0; time.Sleep(5 * time.Millisecond) {
					must.Succeed(b, s.Zones.Get(ctx, store.Key("zones", "alone", name), get, z))
				}
				settled = max(settled, time.Since(at))
				answered = max(answered, <-answer)
			}
			rate := float64(made.Load()) / time.Since(began).Seconds()
			stop()
			all.Wait()
			b.ReportMetric(settled.Seconds()*1000, "settled-ms")
			b.ReportMetric(answered.Seconds()*1000, "answered-ms")
			b.ReportMetric(rate, "zones/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
