// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/bench/figures"
)

// idle counts what is done while nothing changes.
func (s *stage) idle(ctx context.Context, into *figures.Results) error {
	if s.plan.Idle <= 0 {
		return nil
	}
	secondary, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer secondary.Close()
	var notified atomic.Int64
	go func() {
		packet := make([]byte, 4096)
		for {
			n, from, err := secondary.ReadFrom(packet)
			if err != nil {
				return
			}
			notified.Add(1)
			if n >= 12 {
				packet[2] |= 0x80 // an answer, which ends the retries
				packet[3] &= 0xf0
				_, _ = secondary.WriteTo(packet[:n], from)
			}
		}
	}()
	u, err := s.up(ctx, "idle", "--transfer-to", secondary.LocalAddr().String())
	if err != nil {
		return err
	}
	defer u.stop()
	sink := newSink()
	defer sink.Close()
	const class = "idle"
	if err := u.class(ctx, class, v1alpha1.DNSClassSpec{RequestsPerSecond: ptr.To[int32](10_000), Webhook: &v1alpha1.WebhookProvider{Server: sink.URL}}); err != nil {
		return err
	}
	if _, _, err := figures.Callers(ctx, fillers, s.plan.IdleZones, func(ctx context.Context, i int) error {
		return u.zone(ctx, fmt.Sprint("z", i), domain(fmt.Sprint("z", i)), class)
	}); err != nil {
		return err
	}
	if err := u.settle(ctx); err != nil {
		return err
	}
	if notified.Load() == 0 {
		return fmt.Errorf("nobody was notified of %d new zones: that nobody is while nothing changes would prove nothing", s.plan.IdleZones)
	}
	before, err := u.calm(ctx)
	if err != nil {
		return err
	}
	for last := int64(-1); last != notified.Load(); time.Sleep(3 * time.Second) {
		last = notified.Load()
	}
	calls, told := sink.counted(), notified.Load()
	used, err := figures.CPU(u.pid())
	if err != nil {
		return err
	}
	s.say("idle for %s", s.plan.Idle)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.plan.Idle):
	}
	spent, err := figures.CPU(u.pid())
	if err != nil {
		return err
	}
	after, err := u.writes(ctx)
	if err != nil {
		return err
	}
	more := since(before, after)
	checks := more["dnsclasses/status"]
	into.Add("idle/time", "s", s.plan.Idle.Seconds())
	into.Add("idle/zones", "zones", float64(s.plan.IdleZones))
	into.Add("idle/writes", "writes", float64(total(more)-checks))
	into.Add("idle/health", "writes", float64(checks))
	into.Add("idle/notifies", "messages", float64(notified.Load()-told))
	into.Add("idle/calls", "calls", float64(sink.counted()-calls))
	into.Add("idle/cpu", "ms/s", (spent-used).Seconds()*1e3/s.plan.Idle.Seconds())
	return nil
}
