// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// panicky panics when it encodes an object with the word for the second time, which is in the decision of the batch.
type panicky struct {
	word string
	seen *sync.Map
}

func (p panicky) TransformFromStorage(_ context.Context, data []byte, _ value.Context) ([]byte, bool, error) {
	return data, false, nil
}

func (p panicky) TransformToStorage(_ context.Context, data []byte, of value.Context) ([]byte, error) {
	if strings.Contains(string(data), p.word) {
		if _, again := p.seen.LoadOrStore(string(of.AuthenticatedData()), true); again {
			panic("the benchmark says so")
		}
	}
	return data, nil
}

// BenchmarkCreate_beside creates Records in 15 zones, with a caller for each, alternately alone and beside four callers
// in a sixteenth zone. The four write in the same way, or half of them through another server so that transactions
// lose, or large Records so that few fit into a transaction, or Records that panic.
func BenchmarkCreate_beside(b *testing.B) {
	const rounds, others = 6, 4
	lasting := 2 * time.Second
	for _, fault := range []string{"quiet", "another-server", "large", "panics"} {
		b.Run(fault, func(b *testing.B) {
			st := store.On(b, store.Fresh(b), "/registry/kubizone")
			s, other := st.Server(func(c *ledger.Config) {
				c.Records.Transformer = panicky{"boom", &sync.Map{}}
			}), st.Server()
			for z := range 16 {
				store.Must(s.CreateZone(store.Zone("infra", fmt.Sprint("z", z), fmt.Sprintf("z%d.org.", z), store.Allow("", "*"))))
			}
			var next atomic.Int64
			create := func(by *store.Server, z int, values ...string) error {
				name := fmt.Sprint("r", next.Add(1))
				r := store.Record(fmt.Sprint("team", z), name, fmt.Sprintf("%s.z%d.org.", name, z), "TXT", "text")
				r.Spec.Values = append(r.Spec.Values, values...)
				_, err := by.CreateRecord(context.Background(), r)
				return err
			}
			large := make([]string, 0, 200) // about 50 kB, near the limit of an RRset (S5.8)
			for i := range cap(large) {
				large = append(large, fmt.Sprintf("%q", strings.Repeat(string(rune('a'+i%26)), 250)+fmt.Sprint(i)))
			}
			annoy := map[string]func(i int) error{
				"quiet":          func(int) error { return create(s, 0) },
				"another-server": func(i int) error { return create([]*store.Server{s, other}[i%2], 0) },
				"large":          func(int) error { return create(s, 0, large...) },
				"panics":         func(int) error { return create(s, 0, "boom") },
			}[fault]
			measure := func(beside bool) (rate, p99 float64) {
				stop := make(chan struct{})
				var annoying, all sync.WaitGroup
				if beside {
					for i := range others {
						annoying.Go(func() {
							for {
								select {
								case <-stop:
									return
								default:
									_ = annoy(i)
								}
							}
						})
					}
				}
				elapsed := make([][]float64, 16)
				for z := 1; z < 16; z++ {
					all.Go(func() {
						for began := time.Now(); time.Since(began) < lasting; {
							at := time.Now()
							if err := create(s, z); err != nil {
								b.Error(err)
							}
							elapsed[z] = append(elapsed[z], time.Since(at).Seconds())
						}
					})
				}
				all.Wait()
				close(stop)
				annoying.Wait()
				every := slices.Sorted(slices.Values(slices.Concat(elapsed...)))
				return float64(len(every)) / lasting.Seconds(), every[len(every)*99/100]
			}
			measure(false)
			var rates, tails []float64
			for range rounds {
				rate, p99 := measure(false)
				rateBeside, p99Beside := measure(true)
				rates, tails = append(rates, rateBeside/rate), append(tails, p99Beside/p99)
			}
			b.ReportMetric(slices.Sorted(slices.Values(rates))[rounds/2], "rate-ratio")
			b.ReportMetric(slices.Sorted(slices.Values(tails))[rounds/2], "p99-ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

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
