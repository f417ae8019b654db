// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
)

// measure is one figure of an arm in a round.
type measure struct {
	name, unit string
	// head of its column.
	head string
}

// operations in the order in which a batch undergoes them.
var operations = []string{"create", "get", "update", "delete"}

const (
	listed  = "list"
	event   = "watch/event"
	initial = "watch/initial"
)

var measures = func() (out []measure) {
	for _, op := range operations {
		out = append(out, measure{at(op, many), "/s", op})
	}
	for _, op := range operations {
		out = append(out, measure{at(op, lone), "ms", op})
	}
	for _, op := range operations {
		out = append(out, measure{at(op, many) + "/cpu", "µs", op})
	}
	return append(out, measure{listed, "ms", "list"}, measure{event, "ms", "event"}, measure{initial, "/s", "initial events"})
}()

func at(op string, callers int) string { return fmt.Sprintf("%s/%d", op, callers) }

// sample is one operation of one arm in one round.
type sample struct {
	rate     float64 // requests or events a second
	p50, p99 float64 // ms
	cpu      float64 // µs of kube-apiserver and of the server behind it, for each
}

func newSample(took []time.Duration, total time.Duration) sample {
	return sample{rate: float64(len(took)) / total.Seconds(), p50: figures.Quantile(took, 0.50), p99: figures.Quantile(took, 0.99)}
}

func (s sample) of(m measure) float64 {
	switch m.unit {
	case "ms":
		return s.p50
	case "µs":
		return s.cpu
	}
	return s.rate
}

// round puts a batch of each load through the arm, then lists and watches the population.
func (a *arm) round(ctx context.Context, p plan, label string) (map[string]sample, error) {
	out := map[string]sample{}
	for _, l := range p.Load {
		if err := a.batch(ctx, l, fmt.Sprintf("%s-%02d", label, l.Callers), out); err != nil {
			return nil, fmt.Errorf("%d callers: %w", l.Callers, err)
		}
	}
	var err error
	if out[listed], err = a.list(ctx, p); err != nil {
		return nil, err
	}
	out[initial], err = a.initial(ctx, populationNamespace, p.Population, p.Reads)
	return out, err
}

// batch creates, gets, updates and deletes objects whose names nothing was called before. A lone caller's creates are
// watched.
func (a *arm) batch(ctx context.Context, l load, label string, out map[string]sample) error {
	n := l.Requests
	name := func(i int) string { return a.label() + "-" + label + fmt.Sprintf("-%05d", i) }
	answers, sent := make([][]byte, n), make([]time.Time, n)
	var seen func() ([]time.Time, error)
	if l.Callers == lone {
		var err error
		if seen, err = a.watch(ctx, name(0), n); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	do := map[string]func(context.Context, int) error{
		"create": func(ctx context.Context, i int) (err error) {
			sent[i] = time.Now()
			answers[i], err = a.create(ctx, roundNamespace, name(i), i)
			return err
		},
		"get": func(ctx context.Context, i int) error {
			return a.request("GET", roundNamespace).Name(name(i)).Do(ctx).Error()
		},
		"update": func(ctx context.Context, i int) error {
			return a.request("PUT", roundNamespace).Name(name(i)).Body(answers[i]).Do(ctx).Error()
		},
		"delete": func(ctx context.Context, i int) error {
			return a.request("DELETE", roundNamespace).Name(name(i)).Do(ctx).Error()
		},
	}
	for _, op := range operations {
		idle, err := a.cpu()
		if err != nil {
			return err
		}
		took, total, err := figures.Callers(ctx, l.Callers, n, do[op])
		if err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		spent, err := a.cpu()
		if err != nil {
			return err
		}
		one := newSample(took, total)
		one.cpu = float64((spent - idle).Microseconds()) / float64(n)
		out[at(op, l.Callers)] = one
		if op != "create" {
			continue
		}
		for i, answer := range answers {
			if answers[i] = bytes.Replace(answer, []byte(createdAddress), []byte(updatedAddress), 1); bytes.Equal(answers[i], answer) {
				return fmt.Errorf("nothing to update in %s", answer)
			}
		}
		if seen == nil {
			continue
		}
		came, err := seen()
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		late := make([]time.Duration, n)
		for i := range came {
			late[i] = came[i].Sub(sent[i])
		}
		out[event] = newSample(late, total)
	}
	return nil
}

// cpu is what the servers used so far that take part in answering.
func (a *arm) cpu() (sum time.Duration, err error) {
	for _, pid := range a.servers {
		one, err := figures.CPU(pid)
		if err != nil {
			return 0, err
		}
		sum += one
	}
	return sum, nil
}

// label differs from arm to arm.
func (a *arm) label() string {
	return map[string]string{records.name: "r", flunders.name: "f", custom.name: "c"}[a.name] +
		map[string]string{direct: "d", aggregated: "a"}[a.via] + map[string]string{masters: "m", tenant: "t"}[a.user]
}

// waitTimeout bounds every wait for what must come.
const waitTimeout = 2 * time.Minute

// watch follows the namespace until n objects were added, whose first has this name. seen waits for them and tells when
// each came, in order.
func (a *arm) watch(ctx context.Context, first string, n int) (seen func() ([]time.Time, error), err error) {
	version, err := a.version(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, waitTimeout, fmt.Errorf("%d events did not come within %s", n, waitTimeout))
	body, err := a.request("GET", roundNamespace).Param("watch", "true").Param("resourceVersion", version).Stream(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	came := make([]time.Time, 0, n)
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		defer body.Close()
		lines := bufio.NewReaderSize(body, 1<<16)
		for len(came) < n {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				ended <- errors.Join(err, context.Cause(ctx))
				return
			}
			switch {
			case bytes.HasPrefix(line, []byte(`{"type":"ADDED"`)):
				if came = append(came, time.Now()); len(came) == 1 && !bytes.Contains(line, []byte(first)) {
					ended <- fmt.Errorf("the first event is not of %s: %.300s", first, line)
					return
				}
			case !bytes.HasPrefix(line, []byte(`{"type":"MODIFIED"`)) && !bytes.HasPrefix(line, []byte(`{"type":"DELETED"`)):
				ended <- fmt.Errorf("unexpected event: %.300s", line)
				return
			}
		}
		ended <- nil
	}()
	return func() ([]time.Time, error) { err := <-ended; return came, err }, nil
}

// version of the namespace now.
func (a *arm) version(ctx context.Context) (string, error) {
	body, err := a.request("GET", roundNamespace).Param("limit", "1").DoRaw(ctx)
	if err != nil {
		return "", err
	}
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	err = json.Unmarshal(body, &list)
	return list.Metadata.ResourceVersion, err
}

// list asks for the whole population, as kubectl does, by a lone caller.
func (a *arm) list(ctx context.Context, p plan) (sample, error) {
	var last []byte
	took, total, err := figures.Callers(ctx, lone, p.Reads, func(ctx context.Context, _ int) (err error) {
		last, err = a.request("GET", populationNamespace).DoRaw(ctx)
		return err
	})
	if err != nil {
		return sample{}, fmt.Errorf("list: %w", err)
	}
	var list struct{ Items []struct{} }
	if err := json.Unmarshal(last, &list); err != nil {
		return sample{}, fmt.Errorf("list: %w", err)
	}
	if len(list.Items) != p.Population {
		return sample{}, fmt.Errorf("list: %d objects, want %d", len(list.Items), p.Population)
	}
	return newSample(took, total), nil
}

// initial begins a watch as an informer does, and reads the events by which it learns what is there. The rate is of
// events.
func (a *arm) initial(ctx context.Context, namespace string, want, times int) (sample, error) {
	took, total, err := figures.Callers(ctx, lone, times, func(ctx context.Context, _ int) error {
		ctx, cancel := context.WithTimeout(ctx, waitTimeout)
		defer cancel()
		body, err := a.request("GET", namespace).Param("watch", "true").Param("allowWatchBookmarks", "true").
			Param("sendInitialEvents", "true").Param("resourceVersionMatch", "NotOlderThan").Param("resourceVersion", "0").Stream(ctx)
		if err != nil {
			return err
		}
		defer body.Close()
		got, err := countInitial(body)
		if err == nil && got != want {
			err = fmt.Errorf("%d events, want %d", got, want)
		}
		return err
	})
	if err != nil {
		return sample{}, fmt.Errorf("initial events: %w", err)
	}
	s := newSample(took, total)
	s.rate *= float64(want)
	return s, nil
}

// countInitial reads up to the bookmark that ends the initial events, each on a line of its own.
func countInitial(events io.Reader) (int, error) {
	lines := bufio.NewReaderSize(events, 1<<16)
	for n := 0; ; n++ {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return n, fmt.Errorf("after %d events: %w", n, err)
		}
		if bytes.HasPrefix(line, []byte(`{"type":"BOOKMARK"`)) {
			return n, nil
		}
		if !bytes.HasPrefix(line, []byte(`{"type":"ADDED"`)) {
			return n, fmt.Errorf("unexpected event: %.300s", line)
		}
	}
}

// every runs f for 0 … n-1 by so many callers: what is not measured.
func every(ctx context.Context, callers, n int, f func(ctx context.Context, i int) error) error {
	_, _, err := figures.Callers(ctx, callers, n, f)
	return err
}
