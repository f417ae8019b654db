// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package heartbeat

import (
	"context"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"
)

// LabelProcess of a Lease has the name of the process.
const LabelProcess = "kubi.zone/process"

// Processes with Leases. A signer's pod has no token; AgentSilent tells of it (S11.32).
const (
	Controller  = "controller"
	Primary     = "primary"
	Fleet       = "fleet"
	ExternalDNS = "external-dns"
)

const (
	// Interval is between renewals of a Lease. A process has ended EndAfter the last renewal that a watcher saw.
	Interval = 10 * time.Second
	EndAfter = 30 * time.Second
	// lookInterval and lookTimeout are of the list of all Leases.
	lookInterval = 5 * time.Second
	lookTimeout  = 5 * time.Second
)

// Life says whether a replica of a process works. Zero: one does, or nothing is known.
type Life struct {
	// Ended is the last renewal, by the clock of the replica; zero unless the process has ended.
	Ended time.Time
	// Unsure is true until the watcher has seen a renewal, or none for EndAfter.
	Unsure bool
}

// Watcher follows the Leases of a namespace.
type Watcher struct {
	leases  coordinationclient.LeaseInterface
	changed func()

	sights map[string]sight // by the name of the Lease; used by Run alone
	failed bool             // the last look failed

	mu    sync.Mutex
	lives map[string]Life // by process; nil before the first look
}

// sight is the last change of a Lease that the watcher saw, or the first look at it.
type sight struct {
	process string
	renewed time.Time // by the clock of the replica
	at      time.Time // by the clock of the watcher
	changed bool
}

// NewWatcher returns a Watcher that looks during Run, and calls changed after a change of a Life.
func NewWatcher(leases coordinationclient.LeaseInterface, changed func()) *Watcher {
	return &Watcher{leases: leases, changed: changed, sights: map[string]sight{}}
}

// LifeOf returns the Life of a process.
func (w *Watcher) LifeOf(process string) Life {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lives == nil {
		return Life{Unsure: true}
	}
	return w.lives[process]
}

// Run looks until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		w.readLeases(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w *Watcher) readLeases(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	all, err := w.leases.List(asking, metav1.ListOptions{LabelSelector: LabelProcess})
	if err != nil {
		if !w.failed && ctx.Err() == nil {
			klog.FromContext(ctx).Info("Leases cannot be listed, so conditions name no process that ended", "err", err)
		}
		w.failed = true
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			w.setLives(map[string]Life{})
		}
		return
	}
	now := time.Now()
	before := w.sights
	w.sights = make(map[string]sight, len(all.Items))
	for i := range all.Items {
		lease := &all.Items[i]
		next := sight{process: lease.Labels[LabelProcess], at: now}
		if lease.Spec.RenewTime != nil {
			next.renewed = lease.Spec.RenewTime.Time
		}
		if last, known := before[lease.Name]; known && last.renewed.Equal(next.renewed) {
			if next = last; w.failed { // a replica could not renew either
				next.at = now
			}
		} else {
			next.changed = known
		}
		w.sights[lease.Name] = next
	}
	w.failed = false
	w.setLives(decideLives(w.sights, now))
}

func (w *Watcher) setLives(lives map[string]Life) {
	w.mu.Lock()
	same := w.lives != nil && maps.Equal(w.lives, lives)
	w.lives = lives
	w.mu.Unlock()
	if !same {
		w.changed()
	}
}

func decideLives(sights map[string]sight, now time.Time) map[string]Life {
	lives, works := map[string]Life{}, map[string]bool{}
	for _, one := range sights {
		life := lives[one.process]
		switch recent := now.Sub(one.at) < EndAfter; {
		case recent && one.changed:
			works[one.process] = true
		case recent:
			life.Unsure = true
		case one.renewed.After(life.Ended):
			life.Ended = one.renewed
		}
		lives[one.process] = life
	}
	for process, life := range lives {
		switch {
		case works[process]:
			lives[process] = Life{}
		case life.Unsure:
			lives[process] = Life{Unsure: true}
		}
	}
	return lives
}
