// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// parts are the servers of kubizone up, for example etcd and the API server.
type parts struct {
	// running is in the order of the start. Parts end in reverse order, since later parts use earlier parts.
	running []*part
	// failed gets the error of the first part that ends before stop, and (by once) no later error.
	failed chan error
	once   sync.Once
}

type part struct {
	name string
	stop context.CancelFunc
	done chan struct{}
	err  error // read after done
}

func newParts() *parts { return &parts{failed: make(chan error, 1)} }

// startPart runs a part until stop, even after the end of ctx, because parts end in order.
func (p *parts) startPart(ctx context.Context, name string, run func(ctx context.Context) error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	one := &part{name: name, stop: stop, done: make(chan struct{})}
	p.running = append(p.running, one)
	go func() {
		defer close(one.done)
		err := run(ctx)
		// The part was told to stop, so only a fault during the stop is an error.
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, context.Canceled) {
				one.err = fmt.Errorf("stopping %s: %w", name, err)
			}
			return
		}
		// Parts run until they are stopped: an early end without error is a failure too.
		if err == nil {
			err = errors.New("it ended by itself")
		}
		p.fail(fmt.Errorf("%s: %w", name, err))
	}()
}

func (p *parts) fail(err error) {
	p.once.Do(func() { p.failed <- err })
}

// stop ends all parts, the last started first, and waits for each. The error joins the faults of the stop.
func (p *parts) stop() error {
	var wrong []error
	for i := len(p.running) - 1; i >= 0; i-- {
		p.running[i].stop()
		<-p.running[i].done
		wrong = append(wrong, p.running[i].err)
	}
	p.running = nil
	return errors.Join(wrong...)
}

// runDuring calls work and returns its error. If a part fails or ctx ends first, runDuring cancels the context of work,
// waits until work has returned, and returns the error of the part or of ctx.
func (p *parts) runDuring(ctx context.Context, work func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	select {
	case err := <-done:
		return err
	case err := <-p.failed:
		// Work has to end before the caller stops the parts below.
		cancel(err)
		<-done
		return err
	case <-ctx.Done():
		<-done
		return context.Cause(ctx)
	}
}
