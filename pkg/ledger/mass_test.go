// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/store"
)

var massive = flag.Int("cascade", 0, "records of the zone that TestCascade_rate withdraws from; 0: a few, and no figures")

// All records of a zone follow when its rules let go of them and take them in again. With -cascade
// it says at which rate beside that of plain writes, and what a neighbour's writes take meanwhile beside what they took
// before.
func TestCascade_rate(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	n := *massive
	if n == 0 {
		n = scale(400, 100)
	}
	st := store.New(t)
	s := st.Server()
	s.Run()
	rules := store.Allow("", "*")
	for _, name := range []string{"big", "other"} {
		store.Must(s.CreateZone(store.Zone("infra", name, name+".example.", rules)))
	}
	st.Settle()
	record := func(zone, name string, i int) *v1alpha1.Record {
		r := store.Record("team-a", name, name, "A", fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255))
		r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: zone}
		return r
	}
	creates := func(zone, label string, callers, n int) float64 {
		var next atomic.Int64
		began := time.Now()
		parallel(callers, func(int) {
			for i := int(next.Add(1)) - 1; i < n && !t.Failed(); i = int(next.Add(1)) - 1 {
				if _, err := s.CreateRecord(t.Context(), record(zone, fmt.Sprintf("%s-%d", label, i), i)); err != nil {
					t.Error(err)
				}
			}
		})
		return float64(n) / time.Since(began).Seconds()
	}
	creates("big", "r", 32, n)
	busy := spent(t)
	plain := creates("other", "p", 16, min(n, 5000))
	each := (spent(t) - busy) / float64(min(n, 5000))
	// lone writes of a neighbour until stopped; the quantiles in ms.
	lone := func(label string, done <-chan struct{}, least int) (writes int, p50, p99 float64) {
		var took []float64
		for i := 0; ; i++ {
			select {
			case <-done:
				if len(took) >= least {
					slices.Sort(took)
					return len(took), took[len(took)/2], took[len(took)*99/100]
				}
			default:
			}
			began := time.Now()
			if _, err := s.CreateRecord(t.Context(), record("other", fmt.Sprintf("%s-%d", label, i), i)); err != nil {
				t.Error(err)
				return 0, 0, 0
			}
			took = append(took, time.Since(began).Seconds()*1e3)
			time.Sleep(time.Millisecond)
		}
	}
	ended := make(chan struct{})
	close(ended)
	adopted := func() (in int) {
		for _, r := range s.ListRecords("team-a") {
			if r.Status.ZoneRef != nil && r.Status.ZoneRef.Name == "big" && r.Status.FQDN == r.Name+"."+s.Zone("infra", "big").Status.FQDN {
				in++
			}
		}
		return in
	}
	for _, mass := range []struct {
		what   string
		change func(*v1alpha1.Zone)
		in     int
	}{
		{"withdrawn", func(z *v1alpha1.Zone) { z.Spec.Delegations = nil }, 0},
		{"given back", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{rules} }, n},
	} {
		busy := spent(t)
		least := min(n/10, 500)
		_, before50, before99 := lone(mass.what[:3]+"-before", ended, least)
		one := (spent(t) - busy) / float64(least)
		busy = spent(t)
		txns, steps, began := s.Ledger.Stats().Transactions.Load(), s.Ledger.Stats().CascadeSteps.Load(), time.Now()
		if _, err := s.UpdateZone("infra", "big", mass.change); err != nil {
			t.Fatal(err)
		}
		answered := time.Since(began)
		through := make(chan struct{})
		var wg sync.WaitGroup
		var during50, during99 float64
		var writes int
		wg.Go(func() { writes, during50, during99 = lone(mass.what[:3]+"-during", through, 1) })
		var peak uint64
		for settled := false; !settled && !t.Failed(); time.Sleep(20 * time.Millisecond) {
			settled = meta.IsStatusConditionTrue(s.Zone("infra", "big").Status.Conditions, v1alpha1.ConditionSettled)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}
		took := time.Since(began)
		close(through)
		wg.Wait()
		rate := float64(n) / took.Seconds()
		step := (spent(t) - busy - one*float64(writes)) / float64(n)
		t.Logf("%s: answered in %v, %d followed in %v: %.0f/s, %.2f of plain writes by 16 (%.0f/s); a neighbour's p50 %.2f ms after %.2f (%.2f), p99 %.1f after %.1f (%.2f); %d steps, %d transactions; heap at most %d MB; CPU each %.0f µs, %.2f of a plain write",
			mass.what, answered.Round(time.Millisecond), n, took.Round(time.Millisecond), rate, rate/plain, plain, during50, before50, during50/before50, during99, before99, during99/before99,
			s.Ledger.Stats().CascadeSteps.Load()-steps, s.Ledger.Stats().Transactions.Load()-txns-int64(writes), peak>>20, step*1e6, step/each)
		if n <= 10000 {
			if in := adopted(); in != mass.in {
				t.Errorf("%s: %d records in the zone, want %d", mass.what, in, mass.in)
			}
		}
	}
	st.Settle()
}

// spent is the CPU time of this process, etcd's in it, in seconds.
func spent(t *testing.T) float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
}
