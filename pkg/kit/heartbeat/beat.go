// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package heartbeat

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// Places are the Leases of a process named by RBAC. Further replicas have none.
const Places = 8

const renewTimeout = 5 * time.Second

// Beat renews a Lease. Call Run once.
type Beat struct {
	Leases            coordinationclient.LeaseInterface
	Process, Identity string

	name      string           // "" before a Lease is taken
	sights    map[string]sight // other replicas' Leases
	lastError string
}

func PodNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Run renews every Interval while isReady returns true, until ctx ends.
func (b *Beat) Run(ctx context.Context, isReady func() bool) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	// Until the process is ready, look each second, so that a start is visible at once.
	soon := time.NewTicker(time.Second)
	defer soon.Stop()
	for {
		if isReady() {
			soon.Stop()
			switch err := b.renewLease(ctx); {
			case err == nil:
				b.lastError = "" // the next failure is logged, also of the same kind
			case ctx.Err() == nil && err.Error() != b.lastError:
				b.lastError = err.Error()
				klog.FromContext(ctx).Info("The Lease that tells of this process is not renewed", "process", b.Process, "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-soon.C:
		case <-tick.C:
		}
	}
}

// renewLease renews the Lease of this replica, or looks for a Lease if it has none, or has lost its own.
func (b *Beat) renewLease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	if b.name != "" {
		lease, err := b.Leases.Get(ctx, b.name, metav1.GetOptions{})
		switch {
		case err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == b.Identity:
			return b.takeLease(ctx, lease)
		// The API does not answer: the Lease is most likely still this replica's, so look for no other.
		case err != nil && !apierrors.IsNotFound(err):
			return err
		}
	}
	return b.findPlace(ctx)
}

// findPlace takes over a Lease whose replica has ended, or else creates a missing one. An error means that all places
// are taken, or that the API failed.
func (b *Beat) findPlace(ctx context.Context) error {
	b.name = ""
	before := b.sights
	b.sights = map[string]sight{}
	absent := ""
	for n := range Places {
		name := fmt.Sprintf("kubizone-%s-%d", b.Process, n)
		lease, err := b.Leases.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			absent = cmp.Or(absent, name)
			continue
		}
		if err != nil {
			return err
		}
		seen := sight{seen: time.Now()}
		seen.Renewed = ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time
		// Not renewed since the last look: the time of the first sight counts, by this replica's clock.
		if last, known := before[name]; known && last.Renewed.Equal(seen.Renewed) {
			seen = last
		}
		// The second condition helps after a start: no replica watched the Lease, and its own time is old.
		if b.sights[name] = seen; time.Since(seen.seen) >= EndAfter || time.Since(seen.Renewed) >= 2*EndAfter {
			return b.takeLease(ctx, lease)
		}
	}
	if absent == "" {
		return fmt.Errorf("all %d Leases of the process have other replicas", Places)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: absent}}
	b.fill(lease)
	made, err := b.Leases.Create(ctx, lease, metav1.CreateOptions{})
	if err == nil {
		b.name = made.Name
	}
	return err
}

func (b *Beat) takeLease(ctx context.Context, lease *coordinationv1.Lease) error {
	b.fill(lease)
	taken, err := b.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err == nil {
		b.name = taken.Name
	}
	return err
}

func (b *Beat) fill(lease *coordinationv1.Lease) {
	if lease.Labels == nil {
		lease.Labels = map[string]string{}
	}
	lease.Labels[LabelProcess] = b.Process
	now := metav1.NowMicro()
	if ptr.Deref(lease.Spec.HolderIdentity, "") != b.Identity {
		lease.Spec.AcquireTime = &now
	}
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = &b.Identity, &now
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(EndAfter / time.Second))
}
