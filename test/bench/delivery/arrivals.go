// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"kubi.zone/kubizone/test/bench/figures"
)

// arrivals records when expected data arrives. Simultaneous changes differ in data.
type arrivals struct {
	mu      sync.Mutex
	waiting []*arrival
	came    sync.Cond
}

type arrival struct {
	host, data string
	at         time.Time // zero until then
}

func newArrivals() *arrivals {
	a := &arrivals{}
	a.came.L = &a.mu
	return a
}

func (a *arrivals) expectData(host, data string) *arrival {
	one := &arrival{host: host, data: data}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = append(a.waiting, one)
	return one
}

func (a *arrivals) noteSeen(host, data string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, one := range a.waiting {
		if one.host == host && one.data == data {
			one.at = at
			a.waiting = append(a.waiting[:i:i], a.waiting[i+1:]...)
			a.came.Broadcast()
			return
		}
	}
}

func (a *arrivals) listOldest(n int) []*arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]*arrival(nil), a.waiting[:min(n, len(a.waiting))]...)
}

func (a *arrivals) waitForAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		a.mu.Lock() // a caller that checks ctx below already waits, or checks later
		defer a.mu.Unlock()
		a.came.Broadcast()
	})()
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.waiting) > 0 {
		if ctx.Err() != nil {
			return fmt.Errorf("%d changes are not to be seen, the first has %s at %s: %w", len(a.waiting), a.waiting[0].data, a.waiting[0].host, ctx.Err())
		}
		a.came.Wait()
	}
	return nil
}

type arm struct {
	name   string
	change func(ctx context.Context, host int, data string) error
	came   *arrivals
	made   int
}

type sample struct{ elapsed []time.Duration }

var quantiles = []struct {
	name string
	q    float64
}{{"p50", 0.50}, {"p99", 0.99}}

func (s sample) computeQuantile(q float64) float64 {
	return figures.Quantile(append([]time.Duration(nil), s.elapsed...), q)
}

// gap separates lone changes of an arm. Knot's timer has whole seconds: two a second.
const gap = 500 * time.Millisecond

func (a *arm) changeSingly(ctx context.Context, hosts, n int) (s sample, err error) {
	for range n {
		began := time.Now()
		one, err := a.makeChange(ctx, hosts)
		if err != nil {
			return s, fmt.Errorf("%s: %w", a.name, err)
		}
		if err := a.came.waitForAll(ctx); err != nil {
			return s, fmt.Errorf("%s: %w", a.name, err)
		}
		s.elapsed = append(s.elapsed, one.at.Sub(began))
		if !sleepUntil(ctx, began.Add(gap)) {
			return s, ctx.Err()
		}
	}
	return s, nil
}

func changeAllSingly(ctx context.Context, arms []*arm, hosts, n int) ([]sample, error) {
	all := make([]sample, len(arms))
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i, a := range arms {
		group.Go(func() (err error) {
			if sleepUntil(ctx, began.Add(gap*time.Duration(i)/time.Duration(len(arms)))) {
				all[i], err = a.changeSingly(ctx, hosts, n)
			}
			return err
		})
	}
	return all, group.Wait()
}

func (a *arm) makeNext(hosts int) (int, string) {
	a.made++
	return a.made % hosts, makeAddress(1, a.made)
}

func (a *arm) makeChange(ctx context.Context, hosts int) (*arrival, error) {
	i, data := a.makeNext(hosts)
	one := a.came.expectData(nameHost(i), data)
	return one, a.change(ctx, i, data)
}

// Durations include the delay by earlier changes: clients do not slow down with the server.
func (a *arm) changeSteadily(ctx context.Context, hosts, n int, rate float64) (s sample, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	due := func(i int) time.Time { return began.Add(time.Duration(float64(i) / rate * float64(time.Second))) }
	all := make([]*arrival, n)
	var changing sync.WaitGroup
	for i := range n {
		if !sleepUntil(ctx, due(i)) {
			break
		}
		at, data := a.makeNext(hosts)
		all[i] = a.came.expectData(nameHost(at), data)
		changing.Go(func() {
			if err := a.change(ctx, at, data); err != nil {
				cancel(err)
			}
		})
	}
	changing.Wait()
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	if err := a.came.waitForAll(ctx); err != nil {
		return s, err
	}
	for i, one := range all {
		s.elapsed = append(s.elapsed, one.at.Sub(due(i)))
	}
	return s, nil
}

func sleepUntil(ctx context.Context, at time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(at)):
		return true
	}
}
