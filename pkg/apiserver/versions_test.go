// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
	"kubi.zone/kubizone/test/store"
)

// makeLister makes the requests of an informer for all Records.
func makeLister(api typed.KubizoneV1alpha1Interface) cache.ListerWatcherWithContext {
	return cache.ToListerWatcherWithContext(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return api.Records("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return api.Records("").Watch(ctx, o)
		},
	})
}

// following is a server with 40 Records and informers.
type following struct {
	api   typed.KubizoneV1alpha1Interface
	store *store.Store
	keys  []string // of the Records
	all   []*kuberig.Informer
}

func newFollowing(ctx context.Context, t testing.TB, informers int) *following {
	t.Helper()
	const objects = 40
	etcd := store.Fresh(t)
	f := &following{store: store.On(t, etcd, Prefix)}
	f.api = startWholeServer(t, func(c *Config) { c.Etcd.ServerList = []string{etcd.Endpoint} })
	store.Must(f.api.Zones("platform").Create(ctx, store.Zone("platform", "org", "example.org.", store.Allow("", "*")), metav1.CreateOptions{}))
	for i := range objects {
		r := store.Must(f.api.Records("team").Create(ctx, store.Record("team", fmt.Sprint("r", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1"), metav1.CreateOptions{}))
		f.keys = append(f.keys, layout.Keys{Prefix: Prefix}.Record(r.Namespace, r.Name))
	}
	for range informers {
		i := kuberig.Inform(ctx, makeLister(f.api), &v1alpha1.Record{})
		<-i.Synced()
		if first := i.Counts(); first.Lists != 0 || first.Watches != 1 { // else each read of the cache costs a request to etcd
			t.Errorf("an informer begins by %d lists and %d watches: etcd is not asked how far it is", first.Lists, first.Watches)
		}
		f.all = append(f.all, i)
	}
	return f
}

func (f *following) waitForRecords(ctx context.Context, t testing.TB) {
	t.Helper()
	want := map[string]string{}
	for _, r := range store.Must(f.api.Records("").List(ctx, metav1.ListOptions{})).Items {
		want[r.Namespace+"/"+r.Name] = r.ResourceVersion
	}
	for _, informer := range f.all {
		store.Eventually(t, "an informer has all", func() bool { return maps.Equal(informer.Has(), want) })
	}
}

func (f *following) countRequests() (sum int) {
	for _, informer := range f.all {
		now := informer.Counts()
		sum += now.Lists + now.Watches
	}
	return sum
}

// writeThrough writes the first Records, each time in one transaction, at intervals of every, or when all informers
// are current. It checks the events, and returns the number of relists and rewatches.
func (f *following) writeThrough(ctx context.Context, t testing.TB, objects, times int, every time.Duration) (again int) {
	t.Helper()
	asked, before := f.countRequests(), make([]kuberig.Informed, len(f.all))
	for i := range f.all {
		before[i] = f.all[i].Counts()
	}
	due := time.NewTicker(max(every, 1))
	defer due.Stop()
	must.Succeed(t, store.Together(ctx, store.Must(f.store.Connect()), Prefix, times, func() {
		if every == 0 {
			f.waitForRecords(ctx, t)
		}
		<-due.C
	}, f.keys[:objects]...))
	f.waitForRecords(ctx, t)
	for i, informer := range f.all {
		now := informer.Counts()
		if events := now.Events - before[i].Events; events != objects*times || now.Disorder > 0 {
			t.Errorf("informer %d: %d events of %d, %d in disorder", i, events, objects*times, now.Disorder)
		}
	}
	return f.countRequests() - asked
}

// A transaction writes 40 Records at one revision. Each of 24 informers receives all of them in order and keeps its
// watch. Informers that cannot keep up with the rate of events are closed as with single writes, so the test tries
// several times (BenchmarkVersions_informers).
func TestVersions_aTransactionClosesNoInformer(t *testing.T) {
	if testing.Short() {
		t.Skip("it looks at time, which the race detector takes")
	}
	f, times := newFollowing(t.Context(), t, 24), 10
	if rig.Long() {
		times = 200
	}
	again := 0
	for range 10 { // the machine may be busy
		if again = f.writeThrough(t.Context(), t, 40, times, 0); again == 0 {
			return
		}
	}
	t.Errorf("each time informers asked anew, in the end %d", again)
}

// BenchmarkVersions_informers measures the write rate at which informers are closed: go test -run none -bench
// Versions -benchtime 1x
func BenchmarkVersions_informers(b *testing.B) {
	f := newFollowing(b.Context(), b, 24)
	for _, callers := range []int{1, 16, 64} { // of the API, in one zone
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				const records = 1000
				before, began := f.countRequests(), time.Now()
				var all errgroup.Group
				all.SetLimit(callers)
				for i := range records {
					all.Go(func() error {
						name := fmt.Sprintf("c%d-%d-%d", callers, n, i)
						_, err := f.api.Records("team").Create(b.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1"), metav1.CreateOptions{})
						return err
					})
				}
				must.Succeed(b, all.Wait())
				b.ReportMetric(records/time.Since(began).Seconds(), "objects/s")
				f.waitForRecords(b.Context(), b)
				b.ReportMetric(float64(f.countRequests()-before), "anew")
			}
		})
	}
	for _, objects := range []int{1, 8, 40} {
		for _, rate := range []int{200, 400, 1000, 2000} { // of objects
			b.Run(fmt.Sprintf("objects=%d/rate=%d", objects, rate), func(b *testing.B) {
				for b.Loop() {
					began := time.Now()
					times := max(1, 2*rate/objects)
					again := f.writeThrough(b.Context(), b, objects, times, time.Duration(objects)*time.Second/time.Duration(rate))
					b.ReportMetric(float64(again), "anew")
					b.ReportMetric(float64(times*objects)/time.Since(began).Seconds(), "objects/s")
				}
			})
		}
	}
}
