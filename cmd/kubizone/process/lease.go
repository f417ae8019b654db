// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"kubi.zone/kubizone/pkg/kit/heartbeat"
)

// errLost ends the process, because its caches may lack the next holder's writes.
var errLost = errors.New("the Lease is another's, or could not be renewed in time")

// ErrUnfinished means that work continues after the loss of the Lease, so the process must exit.
var ErrUnfinished = fmt.Errorf("%w; a part of the work does not stop", errLost)

// RenewLease lets Run renew a Lease while the process is ready (package heartbeat). If namespace is "", it does
// nothing.
func (p *Process) RenewLease(process, namespace, identity string, client coordinationclient.LeasesGetter) {
	if namespace != "" {
		p.beat = &heartbeat.Beat{Leases: client.Leases(namespace), Process: process, Identity: identity}
	}
}

func NewIdentity() (string, error) {
	host, err := os.Hostname()
	return host + "_" + string(uuid.NewUUID()), err
}

type Lease struct {
	Object         types.NamespacedName
	Identity, Name string
	Duration       time.Duration
	Client         coordinationclient.LeasesGetter
}

// WorkWithLease waits until this process holds the Lease, and then calls work. The context of work ends when running
// ends, or when the Lease is lost. The Lease is released only after work has returned, because the next holder must not
// begin while calls are in flight.
func (p *Process) WorkWithLease(running, outlasting context.Context, lease Lease, work func(context.Context) error) error {
	electing, release := context.WithCancel(outlasting)
	defer release()

	stopped := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: lease.Object.Namespace, Name: lease.Object.Name}, Client: lease.Client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: lease.Identity},
		},
		// Without a renewal the process stops after half of the Lease. Its last call ends within the other half, before
		// another process can hold the Lease.
		LeaseDuration: lease.Duration, RenewDeadline: lease.Duration / 2, RetryPeriod: lease.Duration / 5, ReleaseOnCancel: true,
		Name: lease.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				p.Printf("leading")
				working, stop := context.WithCancel(leading)
				defer stop()
				defer context.AfterFunc(running, stop)()
				err := work(working)
				stopped <- err
				release()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("lease %s: %w", lease.Object, err)
	}

	// The election outlasts running, so that work can end with the Lease held. But if the Lease is not won yet, the end
	// of running ends the wait.
	waiting := context.AfterFunc(running, func() {
		if !elector.IsLeader() {
			release()
		}
	})
	defer waiting()

	led := make(chan struct{})
	go func() {
		defer close(led)
		elector.Run(electing)
	}()
	<-led

	if running.Err() != nil {
		return context.Cause(running)
	}

	// Either work has returned, or the Lease is lost. Then wait for work, at most as long as the Lease lasts.
	select {
	case err := <-stopped:
		if err != nil {
			return err
		}
	case <-time.After(lease.Duration):
		return ErrUnfinished
	}
	return errLost
}
