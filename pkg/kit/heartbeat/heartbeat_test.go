// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/test/must"
)

type world struct {
	*testing.T
	cluster *fake.Clientset
	watcher *Watcher
	changes atomic.Int32
	failing atomic.Pointer[error]
}

func inWorld(t *testing.T, do func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, cluster: fake.NewClientset()}
		w.cluster.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if err := w.failing.Load(); err != nil {
				return true, nil, *err
			}
			return false, nil, nil
		})
		w.watcher = NewWatcher(w.leaseClient(), func() { w.changes.Add(1) })
		ctx, end := context.WithCancel(t.Context())
		go w.watcher.Run(ctx)
		do(w)
		end()
		synctest.Wait()
	})
}

func (w *world) leaseClient() coordinationclient.LeaseInterface {
	return w.cluster.CoordinationV1().Leases("kubizone-system")
}

func (w *world) startReplica(process, identity string) (kill func()) {
	ctx, kill := context.WithCancel(w.Context())
	beat := &Beat{Leases: w.leaseClient(), Process: process, Identity: identity}
	go beat.Run(ctx, func() bool { return true })
	return kill
}

func (w *world) expectLife(after time.Duration, process string, want Life) {
	w.Helper()
	time.Sleep(after)
	synctest.Wait()
	if got := w.watcher.LifeOf(process); got.Unsure != want.Unsure || !got.Ended.Equal(want.Ended) {
		w.Errorf("%s: %+v, want %+v", process, got, want)
	}
}

func (w *world) listHolders() map[string]string {
	w.Helper()
	holders := map[string]string{}
	for _, lease := range must.Get(w.leaseClient().List(w.Context(), metav1.ListOptions{}))(w).Items {
		holders[lease.Name] = *lease.Spec.HolderIdentity
	}
	return holders
}

// Every replica of a process renews a Lease. A process counts as ended when its last replica has not renewed for
// EndAfter, and as working again from the next renewal on. A process that never had a Lease is not reported as ended.
func TestWatcher_knowsWhichProcessesEnded(t *testing.T) {
	inWorld(t, func(w *world) {
		w.expectLife(time.Minute, Controller, Life{})
		killA, killB := w.startReplica(Controller, "a"), w.startReplica(Controller, "b")
		defer w.startReplica(Primary, "p")()
		w.expectLife(time.Minute, Controller, Life{})
		killA()
		w.expectLife(5*time.Minute, Controller, Life{})
		last := time.Now()
		killB()
		w.expectLife(EndAfter-lookInterval, Controller, Life{})
		w.expectLife(2*lookInterval, Controller, Life{Ended: last})
		w.expectLife(5*time.Minute, Controller, Life{Ended: last})
		w.expectLife(0, Primary, Life{})
		w.expectLife(0, Fleet, Life{})
		defer w.startReplica(Controller, "c")()
		w.expectLife(lookInterval, Controller, Life{})
		if n := w.changes.Load(); n < 4 || n > 8 { // each Life is unsure, works, ends and works again
			w.Errorf("%d changes were reported", n)
		}
	})
}

// Replicas lists the replicas of each process. One that ended is left out while another replica of its process works.
// If all replicas of a process have ended, the last one stays in the list.
func TestWatcher_listsReplicas(t *testing.T) {
	inWorld(t, func(w *world) {
		expect := func(after time.Duration, want ...string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			var got []string
			all, err := w.watcher.Replicas()
			for _, one := range all {
				age := one.Renewed.Sub(one.Started).Round(time.Minute)
				got = append(got, fmt.Sprint(one.Process, " ", one.Identity, " ", age, " ", one.Ended))
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		}
		expect(time.Minute)
		killA := w.startReplica(Controller, "a")
		time.Sleep(time.Second)
		killB := w.startReplica(Controller, "b")
		defer w.startReplica(Primary, "p")()
		expect(10*time.Minute, "controller a 10m0s false", "controller b 10m0s false", "primary p 10m0s false")
		killA()
		expect(2*time.Minute, "controller b 12m0s false", "primary p 12m0s false")
		killB()
		expect(2*time.Minute, "controller b 12m0s true", "primary p 14m0s false")
		away := errors.New("away")
		w.failing.Store(&away)
		time.Sleep(time.Minute)
		if all, err := w.watcher.Replicas(); len(all) != 2 || !errors.Is(err, away) {
			t.Errorf("%v, %v", all, err)
		}
	})
}

// A watcher that has just started cannot know whether a Lease is old because its process has ended or because of
// different clocks, so it reports no process as ended at first. The same holds after an outage of the API, in which no
// replica could renew.
func TestWatcher_isUnsureFirst(t *testing.T) {
	inWorld(t, func(w *world) {
		kill := w.startReplica(Controller, "a")
		time.Sleep(time.Minute)
		last := time.Now()
		kill()
		w.watcher = NewWatcher(w.leaseClient(), func() {})
		w.expectLife(0, Controller, Life{Unsure: true})
		time.Sleep(5 * time.Minute)
		ctx, end := context.WithCancel(w.Context())
		defer end()
		go w.watcher.Run(ctx)
		w.expectLife(EndAfter-time.Second, Controller, Life{Unsure: true})
		w.expectLife(lookInterval, Controller, Life{Ended: last})
		defer w.startReplica(Controller, "b")()
		w.expectLife(time.Minute, Controller, Life{})
		away := errors.New("away")
		w.failing.Store(&away)
		w.expectLife(10*time.Minute, Controller, Life{})
		w.failing.Store(nil)
		w.expectLife(Interval, Controller, Life{})
		w.expectLife(10*time.Minute, Controller, Life{})
	})
}

func TestWatcher_knowsNothingWithoutTheRight(t *testing.T) {
	inWorld(t, func(w *world) {
		defer w.startReplica(Controller, "a")()
		denied := error(apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil))
		w.failing.Store(&denied)
		w.expectLife(10*time.Minute, Controller, Life{})
	})
}

// RBAC names each Lease that a process may write, so there is a fixed number of Leases, and each replica has one. A
// replica that starts takes over the Lease of a dead one.
func TestBeat_hasAPlaceForEachReplica(t *testing.T) {
	inWorld(t, func(w *world) {
		var kills []func()
		for i := range Places + 1 {
			kills = append(kills, w.startReplica(Primary, fmt.Sprint("first", i)))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		if holders := w.listHolders(); len(holders) != Places || holders["kubizone-primary-7"] != "first7" {
			w.Errorf("holders %v", holders)
		}
		for _, kill := range kills[:3] {
			kill()
		}
		time.Sleep(time.Minute)
		if holders := w.listHolders(); len(holders) != Places || holders["kubizone-primary-0"] != "first8" {
			w.Errorf("the replica without a Lease did not take that of a dead replica: %v", holders)
		}
		for round := range 4 {
			kill := w.startReplica(Primary, fmt.Sprint("again", round))
			time.Sleep(2 * time.Minute)
			holders := slices.Collect(maps.Values(w.listHolders()))
			if len(holders) != Places || !slices.Contains(holders, fmt.Sprint("again", round)) {
				w.Errorf("round %d: %v", round, holders)
			}
			kill()
		}
		for _, kill := range kills {
			kill()
		}
	})
}

func TestBeat_waitsUntilReady(t *testing.T) {
	inWorld(t, func(w *world) {
		var ready atomic.Bool
		ctx, end := context.WithCancel(w.Context())
		defer end()
		go (&Beat{Leases: w.leaseClient(), Process: Fleet, Identity: "f"}).Run(ctx, ready.Load)
		time.Sleep(time.Minute)
		if holders := w.listHolders(); len(holders) != 0 {
			w.Errorf("holders %v", holders)
		}
		ready.Store(true)
		w.expectLife(time.Minute, Fleet, Life{})
		if holders := w.listHolders(); holders["kubizone-fleet-0"] != "f" {
			w.Errorf("holders %v", holders)
		}
		last := time.Now()
		ready.Store(false)
		w.expectLife(time.Minute, Fleet, Life{Ended: last})
	})
}
