// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"kubi.zone/kubizone/test/bench/figures"
)

var operations = []string{"create", "update", "delete"}

type sample struct {
	rate     float64 // writes/s
	p50, p99 float64
	// The counts are per write. txns and ranges are calls to etcd, bytes its log's.
	txns, ranges, fsyncs, bytes float64
	// mallocs, allocated and cpu (µs) are the server's.
	mallocs, allocated, cpu, memberCPU float64
}

func (a *arm) measureOperation(ctx context.Context, clients, n int, do func(ctx context.Context, i int) error) (sample, error) {
	var s sample
	logBefore, err := a.etcd.readMetrics(ctx)
	if err != nil {
		return s, err
	}
	memberBefore, err := a.etcd.readCounters(ctx)
	if err != nil {
		return s, err
	}
	var before, after counters
	if a.server != nil {
		if before, err = a.server.readCounters(ctx); err != nil {
			return s, err
		}
	}
	elapsed, total, err := figures.Callers(ctx, clients, n, do)
	if err != nil {
		return s, err
	}
	if a.server != nil {
		if after, err = a.server.readCounters(ctx); err != nil {
			return s, err
		}
	}
	memberAfter, err := a.etcd.readCounters(ctx)
	if err != nil {
		return s, err
	}
	log, err := a.etcd.readMetrics(ctx)
	if err != nil {
		return s, err
	}
	log = log.subtractLog(logBefore)
	each := func(v float64) float64 { return v / float64(n) }
	return sample{
		rate: float64(n) / total.Seconds(), p50: figures.Quantile(elapsed, 0.50), p99: figures.Quantile(elapsed, 0.99),
		txns: each(log.txns), ranges: each(log.ranges), fsyncs: each(log.fsyncs), bytes: each(log.bytes),
		mallocs: each(float64(after.Mallocs - before.Mallocs)), allocated: each(float64(after.AllocBytes - before.AllocBytes)),
		cpu: each(float64((after.CPU - before.CPU).Microseconds())), memberCPU: each(float64((memberAfter.CPU - memberBefore.CPU).Microseconds())),
	}, nil
}

func (a *arm) runRound(ctx context.Context, label string, clients, n int) (map[string]sample, error) {
	b, err := a.batch(label, n)
	if err != nil {
		return nil, err
	}
	out := map[string]sample{}
	for i, do := range []func(context.Context, int) error{b.create, b.update, b.remove} {
		if out[operations[i]], err = a.measureOperation(ctx, clients, n, do); err != nil {
			return nil, fmt.Errorf("%s, %s by %d callers: %w", a.name, operations[i], clients, err)
		}
		if operations[i] != "delete" {
			if err := b.between(ctx); err != nil {
				return nil, fmt.Errorf("%s, after %s: %w", a.name, operations[i], err)
			}
		}
	}
	return out, nil
}
