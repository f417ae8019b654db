// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// newExpiring returns a Record of team-a that expires in d by the clock, made by an update if dynamic.
func newExpiring(clock *store.Clock, name string, d time.Duration, dynamic bool) *v1alpha1.Record {
	r := store.Record("team-a", name, name+".org.", "A", "192.0.2.1")
	r.Spec.ExpiresAt = &metav1.Time{Time: clock.Now().Add(d).UTC().Truncate(time.Second)}
	if dynamic {
		r.Labels = map[string]string{v1alpha1.LabelDynamic: "true"}
	}
	return r
}

func startExpiry(t testing.TB, clock *store.Clock) (*store.Store, *store.Server) {
	t.Helper()
	st := store.New(t)
	s := st.Server(func(c *ledger.Config) { c.Now = clock.Now })
	store.Must(s.CreateZone(store.Zone("infra", "org", "org.", store.Allow("", "*"))))
	return st, s
}

// awaitExpiry fails the test unless the Records of team-a have left their zones in time: the manifests' stay as
// Expired, the others are deleted.
func awaitExpiry(t testing.TB, s *store.Server, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		left := slices.DeleteFunc(s.ListRecords("team-a"), func(r v1alpha1.Record) bool {
			return r.Spec.ExpiresAt == nil || reasonOf(&r) == v1alpha1.ReasonExpired && r.Labels[v1alpha1.LabelDynamic] == ""
		})
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d Records have not expired after %s, first %s", len(left), within, left[0].Name)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Late by 5 s at most, beside the machine's load (attack 128: another tenant's name is free then, and no edit of the
// expired Record takes the name back).
func TestExpiry_keepsNoClaim_S15_1_S15_2(t *testing.T) {
	t.Parallel()
	ctx, clock := withDeadline(t), &store.Clock{}
	st, s := startExpiry(t, clock)
	s.Run()
	store.Must(s.CreateRecord(ctx, newExpiring(clock, "www", time.Hour, false)))
	store.Must(s.CreateRecord(ctx, newExpiring(clock, "lease", time.Hour, true)))
	store.Must(s.CreateRecord(ctx, newExpiring(clock, "later", 3*time.Hour, false)))
	astray := newExpiring(clock, "astray", time.Hour, true)
	astray.Spec.DomainName = "astray.example." // no zone has it
	store.Must(s.CreateRecord(ctx, astray))
	kept := newExpiring(clock, "kept", time.Hour, true)
	kept.Finalizers = []string{"team-a.example/kept"}
	store.Must(s.CreateRecord(ctx, kept))
	taken := func() error {
		_, err := s.CreateRecord(ctx, store.Record("team-b", "www", "www.org.", "A", "192.0.2.2"))
		return err
	}
	if err := taken(); !apierrors.IsForbidden(err) {
		t.Errorf("the name of a Record that has yet to expire: %v", err)
	}

	clock.Pass(2 * time.Hour)
	began := time.Now()
	for reasonOf(s.Record("team-a", "www")) != v1alpha1.ReasonExpired {
		if time.Since(began) > 30*time.Second {
			t.Fatal("the Record has not expired")
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("expired after %s", time.Since(began))
	st.Settle()
	names := ""
	for _, r := range s.ListRecords("team-a") {
		names += " " + r.Name + ":" + reasonOf(&r)
	}
	if want := " kept:Expired later:Adopted www:Expired"; names != want {
		t.Errorf("Records%s, want%s", names, want)
	}
	must.Succeed(t, taken())
	_, err := s.UpdateRecord(ctx, "team-a", "www", func(r *v1alpha1.Record) {
		r.Spec.ExpiresAt = &metav1.Time{Time: clock.Now().Add(time.Hour).UTC().Truncate(time.Second)}
	})
	if !apierrors.IsForbidden(err) {
		t.Errorf("an expired Record gets a name that is another's: %v", err)
	}
	// A label of an expired Record needs no decision. Its time in the past is no mistake of this write.
	store.Must(s.UpdateRecord(ctx, "team-a", "www", func(r *v1alpha1.Record) { r.Spec.Description = "out of season" }))
	store.Must(s.UpdateRecord(ctx, "team-a", "www", func(r *v1alpha1.Record) { r.Spec.RData = "192.0.2.3" }))
	st.Settle()
	st.MustBeClean()
}

// The history has the expiry as an act of the Record's namespace, which its brake counts (S7.5) and which no revert
// takes for a change of a person.
func TestExpiry_isAnActOfItsNamespace_S15_4(t *testing.T) {
	t.Parallel()
	ctx, clock := withDeadline(t), &store.Clock{}
	st, s := startExpiry(t, clock)
	store.Must(s.CreateRecord(ctx, newExpiring(clock, "www", time.Hour, false)))
	clock.Pass(2 * time.Hour)
	s.Run()
	awaitExpiry(t, s, time.Minute)
	st.Settle()
	_, steps, err := s.Ledger.AllSteps(ctx, string(s.Zone("infra", "org").UID), uint64(s.Zone("infra", "org").Status.ContentGeneration))
	must.Succeed(t, err)
	last := steps[len(steps)-1]
	if last.CausedBy != "team-a" || !strings.Contains(last.Cause, "expiresAt") || last.By != "" {
		t.Errorf("the step is by %q, caused by %q: %q", last.By, last.CausedBy, last.Cause)
	}
	st.MustBeClean()
}

// A server that starts finds Records that expired while none ran. One that cannot be read delays no other.
func TestExpiry_afterARestart_S15_3(t *testing.T) {
	t.Parallel()
	ctx, clock := withDeadline(t), &store.Clock{}
	st, s := startExpiry(t, clock)
	st.Damaged = true
	for _, name := range []string{"a", "broken", "c"} {
		store.Must(s.CreateRecord(ctx, newExpiring(clock, name, time.Hour, true)))
	}
	key := s.Ledger.Layout().Record("team-a", "broken")
	intact := store.Must(st.Client.Client.Get(ctx, key)).Kvs[0].Value
	store.Must(st.Client.Client.Put(ctx, key, "s2\x01broken"))
	clock.Pass(2 * time.Hour)
	other := st.Server(func(c *ledger.Config) { c.Now = clock.Now })
	other.Run()
	count := func(prefix string) int64 {
		return store.Must(st.Client.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())).Count
	}
	records, due := s.Ledger.Layout().Record("team-a", ""), s.Ledger.Layout().Room("due")
	await := func(want int64) {
		t.Helper()
		for began := time.Now(); count(records) != want || count(due) != want; time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("%d Records and %d due keys are left, want %d", count(records), count(due), want)
			}
		}
	}
	await(1)
	store.Must(st.Client.Client.Put(ctx, key, string(intact)))
	await(0)
}

// Attack 129: a tenant's Records that expire at once delay a neighbour's writes by milliseconds (the figure of 10,000
// is BenchmarkExpiry's), and several servers do the work once.
func TestExpiry_atOnce_S15_3(t *testing.T) {
	t.Parallel()
	const records = 300
	ctx, clock := withDeadline(t), &store.Clock{}
	st, s := startExpiry(t, clock)
	other := st.Server(func(c *ledger.Config) { c.Now = clock.Now })
	makeExpiring(ctx, s, clock, records, time.Hour)
	clock.Pass(2 * time.Hour)
	s.Run()
	other.Run()
	var ended atomic.Bool
	slowest := time.Duration(0)
	var beside sync.WaitGroup
	beside.Go(func() {
		for i := 0; !ended.Load(); i++ {
			began := time.Now()
			name := fmt.Sprint("n", i)
			store.Must(s.CreateRecord(ctx, store.Record("team-b", name, name+".org.", "A", "192.0.2.2")))
			slowest = max(slowest, time.Since(began))
		}
	})
	awaitExpiry(t, s, 2*time.Minute)
	ended.Store(true)
	beside.Wait()
	if slowest > 10*time.Second {
		t.Errorf("a neighbour's write took %s", slowest)
	}
	st.Settle()
	if n := s.Zone("infra", "org").Status.RRsetCount; n != int64(len(s.ListRecords("team-b"))) {
		t.Errorf("the zone has %d RRsets, and the neighbour %d", n, len(s.ListRecords("team-b")))
	}
	st.MustBeClean()
}

func makeExpiring(ctx context.Context, s *store.Server, clock *store.Clock, records int, d time.Duration) {
	var next atomic.Int64
	var writers sync.WaitGroup
	for range 32 {
		writers.Go(func() {
			for i := next.Add(1); i <= int64(records); i = next.Add(1) {
				store.Must(s.CreateRecord(ctx, newExpiring(clock, fmt.Sprint("r", i), d, i%2 == 0)))
			}
		})
	}
	writers.Wait()
}

// Attack 131: a client races the expiry of its Record by edits that move the time to and fro. Whatever comes first, the
// key follows the Record (fsck), and the Record ends in one place.
func TestExpiry_racesEdits_S15_1(t *testing.T) {
	t.Parallel()
	ctx, clock := withDeadline(t), &store.Clock{}
	st, s := startExpiry(t, clock)
	s.Run()
	other := st.Server(func(c *ledger.Config) { c.Now = clock.Now })
	other.Run()
	for i := range 20 {
		name := fmt.Sprint("r", i)
		store.Must(s.CreateRecord(ctx, newExpiring(clock, name, time.Hour, i%2 == 0)))
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for n := range 8 {
				_, err := other.UpdateRecord(ctx, "team-a", fmt.Sprint("r", i), func(r *v1alpha1.Record) {
					r.Spec.ExpiresAt = &metav1.Time{Time: clock.Now().Add(time.Duration(n%3+1) * time.Second).UTC().Truncate(time.Second)}
					r.Spec.RData = fmt.Sprint("192.0.2.", n+10)
				})
				isGone := err != nil && strings.Contains(err.Error(), "not found")
				if err != nil && !isGone && !apierrors.IsInvalid(err) && !apierrors.IsTooManyRequests(err) {
					t.Errorf("edit %d of r%d: %v", n, i, err)
				}
				time.Sleep(300 * time.Millisecond)
			}
		})
	}
	all.Wait()
	clock.Pass(time.Minute)
	awaitExpiry(t, s, time.Minute)
	st.Settle()
	st.MustBeClean()
}

func TestFollowExpiring_announcesAnHourBefore_S15_4(t *testing.T) {
	t.Parallel()
	ctx, clock := withDeadline(t), &store.Clock{}
	_, s := startExpiry(t, clock)
	for name, d := range map[string]time.Duration{"soon": time.Hour - 30*time.Second, "late": 30 * time.Minute, "far": 2 * time.Hour} {
		store.Must(s.CreateRecord(ctx, newExpiring(clock, name, d, false)))
	}
	ctx, cancel := context.WithCancel(ctx)
	var announced []string
	s.Ledger.FollowExpiring(ctx, func(o metav1.Object, at int64, note string) {
		announced = append(announced, o.GetNamespace()+"/"+o.GetName())
		if o.GetUID() != s.Record("team-a", "soon").UID || at != s.Record("team-a", "soon").Spec.ExpiresAt.Unix() {
			t.Errorf("%s is announced with the UID %s for %d: %s", o.GetName(), o.GetUID(), at, note)
		}
		cancel()
	})
	if !slices.Equal(announced, []string{"team-a/soon"}) {
		t.Errorf("announced %v", announced)
	}
}

// BenchmarkExpiry lets 10,000 Records expire at once, half of them made by updates. The metrics are the seconds until
// the last has left its zone, and the ratio of a create with expiresAt to one without, in pairs.
func BenchmarkExpiry(b *testing.B) {
	const records, pairs = 10_000, 2000
	clock := &store.Clock{}
	st := store.On(b, store.Fresh(b), "/registry/kubizone")
	st.Damaged = true // fsck would take longer than the benchmark
	s := st.Server(func(c *ledger.Config) { c.Now, c.TryEvery = clock.Now, time.Minute })
	store.Must(s.CreateZone(store.Zone("infra", "org", "org.", store.Allow("", "*"))))
	s.Run()
	ctx := b.Context()
	for n := 0; b.Loop(); n++ {
		var with, without time.Duration
		for i := range pairs {
			name := fmt.Sprintf("p%d-%d", n, i)
			began := time.Now()
			store.Must(s.CreateRecord(ctx, newExpiring(clock, name, 1000*time.Hour, false)))
			with += time.Since(began)
			began = time.Now()
			store.Must(s.CreateRecord(ctx, store.Record("team-b", name, name+"-b.org.", "A", "192.0.2.1")))
			without += time.Since(began)
		}
		b.ReportMetric(float64(with)/float64(without), "ratio")
		b.ReportMetric(float64(without.Microseconds())/pairs, "create-us")

		makeExpiring(ctx, s, clock, records, time.Hour)
		clock.Pass(2 * time.Hour)
		began := time.Now()
		keys := s.Ledger.Layout()
		due := clientv3.WithRange(keys.DueUntil(clock.Now().Unix()))
		for store.Must(st.Client.Client.Get(ctx, keys.Room("due"), due, clientv3.WithCountOnly())).Count > 0 {
			time.Sleep(20 * time.Millisecond)
		}
		b.ReportMetric(time.Since(began).Seconds(), "expired-s")
	}
	b.ReportMetric(0, "ns/op")
}
