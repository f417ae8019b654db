// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

// BenchmarkWithdrawal withdraws a Delegation of 1,000 Records and releases them, alternating with unrelated writes. The
// benchmark reports the p99 of a neighbour's creates before and during this, in the same zone and in another (S2.5).
func BenchmarkWithdrawal(b *testing.B) {
	const records = 1000
	st := store.New(b)
	s := st.Server(setTryEvery(0)) // with rounds, as in production
	s.Run()
	ctx := b.Context()
	figures := map[string][]float64{}
	add := func(what string, d time.Duration) { figures[what] = append(figures[what], d.Seconds()*1e3) }
	for _, zone := range []string{"big", "other"} {
		store.Must(s.CreateZone(setGrace(store.Zone("infra", zone, zone+".example.", store.Allow("team-b", "n*")), 24*time.Hour)))
	}
	store.Must(s.CreateDelegation(store.Delegation("infra", "a", "big", []string{"team-a"}, "a*")))
	store.Must(s.CreateDelegation(store.Delegation("infra", "c", "big", []string{"team-c"}, "c*")))
	for i := range records {
		store.Must(s.CreateRecord(ctx, store.Record("team-a", fmt.Sprint("a", i), fmt.Sprintf("a%d.big.example.", i), "A", "192.0.2.1")))
	}
	st.Settle()
	made := 0
	create := func(zone, what string) {
		made++
		name := fmt.Sprint("n", made)
		began := time.Now()
		store.Must(s.CreateRecord(ctx, store.Record("team-b", name, name+"."+zone+".example.", "A", "192.0.2.2")))
		add(what+" "+zone, time.Since(began))
	}
	allow := func(delegation string, patterns ...string) {
		store.Must(s.UpdateDelegation("infra", delegation, func(d *v1alpha1.Delegation) {
			d.Spec.Records = store.Delegation("", "", "", nil, patterns...).Spec.Records
		}))
	}
	through := func(what string, do func(), is func(*v1alpha1.Record) bool) {
		for range 100 {
			create("big", what+" alone")
			create("other", what+" alone")
		}
		began := time.Now()
		do()
		add(what+" answered", time.Since(began))
		done := make(chan time.Duration, 1)
		go func() {
			for !st.Quiet() {
				time.Sleep(50 * time.Millisecond)
			}
			done <- time.Since(began)
		}()
		for {
			select {
			case elapsed := <-done:
				add(what+" cascade", elapsed)
				for _, r := range s.ListRecords("team-a") {
					if !is(&r) {
						b.Fatalf("%s: %+v", what, r.Status)
					}
				}
				return
			default:
				create("big", what+" beside")
				create("other", what+" beside")
			}
		}
	}
	for b.Loop() {
		for i := range 20 {
			began := time.Now()
			allow("c", fmt.Sprintf("c%d*", i), "c*")
			add("ordinary answered", time.Since(began))
		}
		through("withdraw", func() { allow("a", "b*") }, func(r *v1alpha1.Record) bool { return r.Status.EndsAt != nil })
		through("release", func() {
			store.Must(s.UpdateZone("infra", "big", func(z *v1alpha1.Zone) {
				z.Annotations = map[string]string{v1alpha1.AnnotationReleaseNow: "team-a"}
			}))
		}, func(r *v1alpha1.Record) bool { return r.Status.ZoneRef == nil })
		allow("a", "a*")
		store.Must(s.UpdateZone("infra", "big", func(z *v1alpha1.Zone) { z.Annotations = nil }))
		st.Settle()
	}
	p99 := func(what string) float64 {
		slices.Sort(figures[what])
		return figures[what][(len(figures[what])-1)*99/100]
	}
	b.ReportMetric(p99("ordinary answered"), "ordinary-p99-ms")
	for _, what := range []string{"withdraw", "release"} {
		b.ReportMetric(p99(what+" answered"), what+"-p99-ms")
		b.ReportMetric(p99(what+" cascade"), what+"-cascade-ms")
		for _, zone := range []string{"big", "other"} {
			b.ReportMetric(p99(what+" beside "+zone), what+"-"+zone+"-p99-ms")
			b.ReportMetric(p99(what+" beside "+zone)/p99(what+" alone "+zone), what+"-"+zone+"-ratio")
		}
	}
}
