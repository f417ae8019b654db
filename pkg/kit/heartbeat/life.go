// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package heartbeat

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

const LabelProcess = "kubi.zone/process"

// A signer's pod has no token for a Lease. AgentSilent reports a silent signer.
const (
	Controller  = "controller"
	Primary     = "primary"
	Fleet       = "fleet"
	ExternalDNS = "external-dns"
)

const (
	// A process has ended EndAfter after the last renewal that a watcher saw.
	Interval     = 10 * time.Second
	EndAfter     = 30 * time.Second
	lookInterval = 5 * time.Second
	lookTimeout  = 5 * time.Second
)

// Life is the state of a process; zero if a replica works, or Leases are unknown.
type Life struct {
	// Ended is the last renewal, by the replica's clock, if the process has ended.
	Ended time.Time
	// Unsure is true until a renewal was seen, or none for EndAfter.
	Unsure bool
}

type Watcher struct {
	leases   coordinationclient.LeaseInterface
	onChange func()

	sights map[string]sight // for Run only
	failed bool

	mu       sync.Mutex
	lives    map[string]Life // nil before the first look
	replicas []Replica
	err      error
}

// sight is a Lease as the Watcher saw it last.
type sight struct {
	Replica
	// seen is the time of the last change, or of the first look, by the Watcher's clock.
	seen time.Time
	// changed is true once the Watcher has seen a renewal. Only a renewal shows that the process works.
	changed bool
}

// Replica is a process as described by its Lease.
type Replica struct {
	// Process is the kind, for example "controller". Identity names the replica, for example by its pod.
	Process, Identity string
	// Started and Renewed are the first and last renewal of the Lease, by the replica's clock.
	Started, Renewed time.Time
	// Ended is true if no replica of this process works any more.
	Ended bool
}

// Replicas returns the working replicas and, of each ended process, the last to renew, sorted by process and identity.
// A failed look adds an error.
func (w *Watcher) Replicas() ([]Replica, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replicas, w.err
}

// NewWatcher returns a Watcher, whose Run calls onChange after each change of a Life.
func NewWatcher(leases coordinationclient.LeaseInterface, onChange func()) *Watcher {
	return &Watcher{leases: leases, onChange: onChange, sights: map[string]sight{}}
}

func (w *Watcher) LifeOf(process string) Life {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lives == nil {
		return Life{Unsure: true}
	}
	return w.lives[process]
}

// Run looks at the Leases each lookInterval until ctx ends. Only Run uses sights and failed.
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

// readLeases lists the Leases once, and updates lives and replicas. After a failed list the last lives stay, except
// without the right to list: then no process counts as ended.
func (w *Watcher) readLeases(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	all, err := w.leases.List(asking, metav1.ListOptions{LabelSelector: LabelProcess})
	if err != nil {
		if !w.failed && ctx.Err() == nil {
			klog.FromContext(ctx).Info("Leases cannot be listed, so conditions name no process that ended", "err", err)
		}
		w.failed = true
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			w.setLives(map[string]Life{}, nil)
		}
		return
	}
	now := time.Now()
	before := w.sights
	w.sights = make(map[string]sight, len(all.Items))
	for i := range all.Items {
		lease := &all.Items[i]
		next := sight{Replica: Replica{Process: lease.Labels[LabelProcess], Identity: ptr.Deref(lease.Spec.HolderIdentity, "")}, seen: now}
		if lease.Spec.RenewTime != nil {
			next.Renewed = lease.Spec.RenewTime.Time
		}
		if lease.Spec.AcquireTime != nil {
			next.Started = lease.Spec.AcquireTime.Time
		}
		if last, known := before[lease.Name]; known && last.Renewed.Equal(next.Renewed) {
			if next = last; w.failed { // the replica could not renew either
				next.seen = now
			}
		} else {
			next.changed = known
		}
		w.sights[lease.Name] = next
	}
	w.failed = false
	lives := decideLives(w.sights, now)
	w.setLives(lives, listReplicas(w.sights, lives, now))
	w.mu.Lock()
	w.err = nil
	w.mu.Unlock()
}

// listReplicas omits a replica that ended while other replicas work.
func listReplicas(sights map[string]sight, lives map[string]Life, now time.Time) (all []Replica) {
	last := map[string]Replica{}
	for _, one := range sights {
		switch {
		case !lives[one.Process].Ended.IsZero():
			if before, known := last[one.Process]; !known || one.Renewed.After(before.Renewed) {
				one.Ended = true
				last[one.Process] = one.Replica
			}
		// A replica that a rollout replaced disappears once its Lease is old.
		case now.Sub(one.seen) < EndAfter:
			all = append(all, one.Replica)
		}
	}
	return slices.SortedFunc(slices.Values(slices.AppendSeq(all, maps.Values(last))), func(a, b Replica) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Identity, b.Identity))
	})
}

func (w *Watcher) setLives(lives map[string]Life, replicas []Replica) {
	w.mu.Lock()
	same := w.lives != nil && maps.Equal(w.lives, lives)
	w.lives, w.replicas = lives, replicas
	w.mu.Unlock()
	if !same {
		w.onChange()
	}
}

// decideLives returns the Life of each process with a Lease. One working replica is enough for a process to work.
func decideLives(sights map[string]sight, now time.Time) map[string]Life {
	lives, works := map[string]Life{}, map[string]bool{}
	// A process works if any replica renewed a Lease recently.
	for _, one := range sights {
		life := lives[one.Process]
		switch recent := now.Sub(one.seen) < EndAfter; {
		case recent && one.changed:
			works[one.Process] = true
		// Seen only once since the start of this Watcher: the replica may have ended before.
		case recent:
			life.Unsure = true
		// Of several ended replicas, the last renewal is the end of the process.
		case one.Renewed.After(life.Ended):
			life.Ended = one.Renewed
		}
		lives[one.Process] = life
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
