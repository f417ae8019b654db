// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/test/bench/figures"
)

const (
	callers = 8
	// breath precedes a lone change, for longer than a program's pause between NOTIFYs or transfers.
	breath           = 300 * time.Millisecond
	askLone, askBulk = time.Millisecond, 10 * time.Millisecond
	// A list takes some thousandths of the measured CPU time.
	askStatus, askStatuses = 2 * time.Millisecond, 200 * time.Millisecond
	firstRecords           = 10
)

type wanted struct{ host, data string }

func (s *stack) wantNext() wanted {
	s.made++
	return wanted{fmt.Sprintf("r%d", s.made), makeAddress(s.made)}
}

func makeAddress(n int) string { return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255) }

func (s *stack) createObject(ctx context.Context, w wanted) error {
	_, err := s.objects.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": s.resource.GroupVersion().String(), "kind": s.kind,
		"metadata": map[string]any{"name": w.host, "namespace": namespace},
		"spec":     s.spec(w.host, w.data),
	}}, metav1.CreateOptions{})
	return err
}

func (s *stack) makeFirst(ctx context.Context) error {
	var first []wanted
	for range firstRecords {
		w := s.wantNext()
		if err := s.createObject(ctx, w); err != nil {
			return err
		}
		first = append(first, w)
	}
	return s.waitForAnswers(ctx, first, askBulk)
}

func (s *stack) measureLone(ctx context.Context, n int, into map[string]figure) error {
	var known, confirmed, answered []time.Duration
	for i := range n {
		if !sleep(ctx, breath) {
			return ctx.Err()
		}
		w := wanted{fmt.Sprintf("r%d", i%firstRecords+1), makeAddress(1<<20 + i)}
		patch, err := json.Marshal(map[string]any{"spec": s.spec(w.host, w.data)})
		if err != nil {
			return err
		}
		began := time.Now()
		object, err := s.objects.Patch(ctx, w.host, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		returned := time.Since(began)
		if s.answered != nil {
			if err := s.answered(object); err != nil {
				return err
			}
		}
		var status, answer time.Duration
		_, _, err = figures.Callers(ctx, 2, 2, func(ctx context.Context, i int) (err error) {
			if i == 0 {
				err = s.waitForAnswers(ctx, []wanted{w}, askLone)
				answer = time.Since(began)
			} else if s.confirmed != nil {
				err = s.waitForStatus(ctx, w.host)
				status = time.Since(began)
			}
			return err
		})
		if err != nil {
			return err
		}
		answered = append(answered, answer)
		if s.confirmed != nil {
			confirmed = append(confirmed, status)
		}
		switch {
		case s.answered != nil:
			known = append(known, returned)
		case s.confirmed != nil:
			known = append(known, status)
		default:
			known = append(known, answer)
		}
	}
	for row, elapsed := range map[string][]time.Duration{loneKnown: known, loneConfirmed: confirmed, loneAnswered: answered} {
		if len(elapsed) > 0 {
			into[row] = figure{"ms", figures.Quantile(elapsed, 0.5)}
		}
	}
	into[loneLongest] = figure{"ms", figures.Quantile(answered, 1)}
	return nil
}

func (s *stack) waitForStatus(ctx context.Context, name string) error {
	return waitUntil(ctx, name+" confirmed", askStatus, func() (bool, error) {
		object, err := s.objects.Get(ctx, name, metav1.GetOptions{})
		return err == nil && s.confirmed(object), err
	})
}

func (s *stack) waitForAllStatuses(ctx context.Context) error {
	return waitUntil(ctx, "all confirmed", askStatuses, func() (bool, error) {
		all, err := s.objects.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(all.Items, func(o unstructured.Unstructured) bool { return !s.confirmed(&o) }), nil
	})
}

// measureIdle stores a system's CPU time a second at rest.
func (s *stack) measureIdle(ctx context.Context, rest time.Duration, into map[string]figure) error {
	var seen [2]usage
	var at [2]time.Time
	for i := range seen { // the last change's work ends in the first rest
		if !sleep(ctx, rest) {
			return ctx.Err()
		}
		var err error
		if seen[i], err = s.readUsage(ctx); err != nil {
			return err
		}
		at[i] = time.Now()
	}
	elapsed := float64(at[1].Sub(at[0]))
	s.idle = float64(seen[1].all-seen[0].all) / elapsed
	s.addedIdle = float64(seen[1].added-seen[0].added) / elapsed
	into[idleCPU] = figure{"ms/s", s.addedIdle * 1e3}
	return nil
}

func (s *stack) measureBulk(ctx context.Context, n int, rest time.Duration, into map[string]figure) error {
	names := make([]wanted, n)
	for i := range names {
		names[i] = s.wantNext()
	}
	before, err := s.readUsage(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	elapsed, _, err := figures.Callers(ctx, 2, 2, func(ctx context.Context, i int) error {
		if i == 0 {
			_, _, err := figures.Callers(ctx, callers, n, func(ctx context.Context, i int) error { return s.createObject(ctx, names[i]) })
			return err
		}
		return s.waitForAnswers(ctx, names, askBulk)
	})
	if err != nil {
		return err
	}
	if s.confirmed != nil {
		if err := s.waitForAllStatuses(ctx); err != nil {
			return err
		}
		into[sizedRow(n, bulkConfirmed)] = figure{"s", time.Since(began).Seconds()}
	}
	if !sleep(ctx, rest) {
		return ctx.Err()
	}
	after, err := s.readUsage(ctx)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	all, added := (after.all-before.all).Seconds()-s.idle*took, (after.added-before.added).Seconds()-s.addedIdle*took
	each := func(v float64) float64 { return v / float64(n) }
	for row, f := range map[string]figure{
		bulkCreated:  {"s", elapsed[0].Seconds()},
		bulkAnswered: {"s", elapsed[1].Seconds()},
		bulkRequests: {"", each(after.requests - before.requests)},
		bulkCPU:      {"ms", each(all * 1e3)},
		bulkAddedCPU: {"ms", each(added * 1e3)},
		bulkLive:     {"B", each(after.live - before.live)},
		bulkWAL:      {"B", each(after.wal - before.wal)},
		bulkResident: {"MB", float64(after.resident) / 1e6},
		bulkHighest:  {"MB", float64(after.highest) / 1e6},
	} {
		into[sizedRow(n, row)] = f
	}
	return nil
}

func sizedRow(n int, row string) string { return fmt.Sprintf("%d/%s", n, row) }

func (s *stack) waitForAnswers(ctx context.Context, all []wanted, pause time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	own := make([][]wanted, min(callers, len(all))) // names without an answer, by poller
	for i, w := range all {
		own[i%len(own)] = append(own[i%len(own)], w)
	}
	_, _, err := figures.Callers(ctx, len(own), len(own), func(ctx context.Context, i int) (err error) {
		own[i], err = s.askForAll(ctx, own[i], pause)
		return err
	})
	if lacking := slices.Concat(own...); err != nil && len(lacking) > 0 {
		return fmt.Errorf("BIND lacks %d names, such as %s with %s: %w", len(lacking), lacking[0].host, lacking[0].data, err)
	}
	return err
}

// askForAll asks one question at a time, after a wanted answer at once, else after a pause for another name.
func (s *stack) askForAll(ctx context.Context, own []wanted, pause time.Duration) (lacking []wanted, err error) {
	client := &mdns.Client{Timeout: time.Second}
	conn, err := client.DialContext(ctx, s.bind.Addr.String())
	if err != nil {
		return own, err
	}
	defer conn.Close()
	for len(own) > 0 {
		q := new(mdns.Msg)
		q.SetQuestion(own[0].host+"."+domain, mdns.TypeA)
		q.RecursionDesired = false
		answer, _, err := client.ExchangeWithConnContext(ctx, q, conn)
		if err == nil && hasAddress(answer, own[0].data) {
			own = own[1:]
			continue
		}
		own = append(own[1:], own[0])
		if !sleep(ctx, pause) {
			return own, ctx.Err()
		}
	}
	return nil, nil
}

func hasAddress(answer *mdns.Msg, data string) bool {
	return slices.ContainsFunc(answer.Answer, func(rr mdns.RR) bool {
		a, ok := rr.(*mdns.A)
		return ok && a.A.String() == data
	})
}

func waitUntil(ctx context.Context, what string, pause time.Duration, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	for {
		ok, err := so()
		if ok || err != nil {
			return err
		}
		if !sleep(ctx, pause) {
			return fmt.Errorf("%s: not so within %s: %w", what, waitTimeout, ctx.Err())
		}
	}
}

func sleep(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
