// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/bench/figures"
)

const callers = 16

func nameFigure(n int, what string) string { return fmt.Sprintf("%d/%s", n, what) }

func (p *plan) measureZone(ctx context.Context, r *figures.Results, n int, s, small *server) error {
	if err := s.waitForRecords(ctx, n, p.Rest); err != nil {
		return err
	}
	if err := p.addStart(ctx, r, s, fmt.Sprint(n)); err != nil {
		return err
	}
	if err := p.compareWrites(ctx, r, fmt.Sprint(n), big, s, small); err != nil {
		return err
	}
	return p.measureReads(ctx, r, n, s)
}

func (p *plan) addStart(ctx context.Context, r *figures.Results, s *server, of string) error {
	held, err := s.measureMemory(ctx)
	if err != nil {
		return err
	}
	r.Add(of+"/ready", "s", s.ready.Seconds())
	r.Add(of+"/ready CPU", "s", s.cpu.Seconds())
	r.Add(of+"/resident", "MB", float64(s.resident)/1e6)
	r.Add(of+"/holds", "MB", held.live/1e6)
	if p.Profiles != "" {
		return s.writeHeapProfile(ctx, p.Profiles, of)
	}
	return nil
}

func (p *plan) compareWrites(ctx context.Context, r *figures.Results, of, zone string, s, small *server) error {
	for round := range p.Rounds {
		pair := []*server{small, s}
		if round%2 == 1 {
			pair[0], pair[1] = pair[1], pair[0]
		}
		elapsed := map[*server]map[string]float64{}
		for _, one := range pair {
			to := big
			if one == s {
				to = zone
			}
			var err error
			if elapsed[one], err = p.measureWrites(ctx, one, fmt.Sprintf("w%s-%d", of, round), to); err != nil {
				return err
			}
		}
		for what, value := range elapsed[s] {
			r.Add(of+"/"+what, unitOf(what), value)
			r.Add(of+"/"+what+" ÷ small", "", value/elapsed[small][what])
		}
	}
	return nil
}

func unitOf(what string) string {
	switch {
	case strings.HasSuffix(what, " ms"):
		return "ms"
	case strings.HasSuffix(what, " CPU"):
		return "µs"
	case strings.HasSuffix(what, " allocations"):
		return ""
	}
	return "/s"
}

type operation struct {
	what string
	do   func(ctx context.Context, i int) error
}

func (s *server) makeOperations(label, zone string) []operation {
	records := s.client.KubizoneV1alpha1().Records(tenant)
	name := func(i int) string { return fmt.Sprintf("%s-%d", label, i) }
	return []operation{
		{"create", func(ctx context.Context, i int) error {
			_, err := records.Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name(i)}, Spec: v1alpha1.RecordSpec{
				DomainName: name(i), ZoneRef: &v1alpha1.ZoneReference{Namespace: owner, Name: zone}, Type: "A", RData: "192.0.2.1"}}, metav1.CreateOptions{})
			return err
		}},
		{"delete", func(ctx context.Context, i int) error { return records.Delete(ctx, name(i), metav1.DeleteOptions{}) }},
	}
}

func (p *plan) measureWrites(ctx context.Context, s *server, label, zone string) (map[string]float64, error) {
	out := map[string]float64{}
	for _, op := range s.makeOperations(label, zone) {
		elapsed, _, err := figures.Callers(ctx, 1, p.Writes, op.do)
		if err != nil {
			return nil, err
		}
		out[op.what+" ms"] = figures.Quantile(elapsed, 0.5)
		out[op.what+" CPU"], out[op.what+" allocations"], err = s.measureCPU(ctx, p.Burst, func() error {
			_, total, err := figures.Callers(ctx, callers, p.Burst, func(ctx context.Context, i int) error { return op.do(ctx, p.Writes+i) })
			out[op.what+"s"] = float64(p.Burst) / total.Seconds()
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

var masses = []struct{ what, patch string }{
	{"withdraw", `{"spec":{"withdrawalGracePeriod":"0s","delegations":[]}}`},
}

func (p *plan) measureMass(ctx context.Context, r *figures.Results, n int, s *server, what, patch string) error {
	if err := s.waitForRecords(ctx, n, p.Rest); err != nil {
		return err
	}
	before, err := p.measureWrites(ctx, s, what+"-before", other)
	if err != nil {
		return err
	}
	var alone, beside neighbour
	for i := range 10 {
		if err := s.createSingly(ctx, fmt.Sprintf("%s-alone-%d", what, i), &alone); err != nil {
			return err
		}
	}
	zones := s.client.KubizoneV1alpha1().Zones(owner)
	began := time.Now()
	if _, err := zones.Patch(ctx, big, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return err
	}
	r.Add(nameFigure(n, what+" answered"), "ms", time.Since(began).Seconds()*1e3)
	through := make(chan error, 1)
	go func() {
		for {
			z, err := zones.Get(ctx, big, metav1.GetOptions{})
			if err != nil || meta.IsStatusConditionTrue(z.Status.Conditions, v1alpha1.ConditionSettled) {
				through <- err
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	for i := 0; ; i++ {
		select {
		case err := <-through:
			if err != nil {
				return err
			}
			r.Add(nameFigure(n, what+" follows"), "/s", float64(n)/time.Since(began).Seconds())
			r.Add(nameFigure(n, what+" follows ÷ creates"), "", float64(n)/time.Since(began).Seconds()/before["creates"])
			if len(beside.creates) > 0 {
				r.Add(nameFigure(n, what+" neighbour"), "", figures.Quantile(beside.creates, 0.5)/before["create ms"])
				for _, of := range []struct {
					op            string
					alone, beside []time.Duration
				}{{"create", alone.creates, beside.creates}, {"read", alone.reads, beside.reads}} {
					p99 := figures.Quantile(of.beside, 0.99)
					r.Add(nameFigure(n, what+" neighbour "+of.op+" p99"), "ms", p99)
					r.Add(nameFigure(n, what+" neighbour "+of.op+" p99 ÷ alone"), "", p99/figures.Quantile(of.alone, 0.99))
				}
			}
			return nil
		default:
		}
		if err := s.createSingly(ctx, fmt.Sprintf("%s-during-%d", what, i), &beside); err != nil {
			return err
		}
	}
}

type neighbour struct{ creates, reads []time.Duration }

func (s *server) createSingly(ctx context.Context, label string, into *neighbour) error {
	records, ops := s.client.KubizoneV1alpha1().Records(tenant), s.makeOperations(label, other)
	for i := range 20 {
		began := time.Now()
		if err := ops[0].do(ctx, i); err != nil {
			return err
		}
		created := time.Now()
		if _, err := records.List(ctx, metav1.ListOptions{FieldSelector: fmt.Sprintf("metadata.name=%s-%d", label, i)}); err != nil {
			return err
		}
		into.creates, into.reads = append(into.creates, created.Sub(began)), append(into.reads, time.Since(created))
		if err := ops[1].do(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) measureZones(ctx context.Context, r *figures.Results, s, small *server) error {
	if err := s.waitForRecords(ctx, 10*p.Zones, p.Rest); err != nil {
		return err
	}
	if err := p.addStart(ctx, r, s, "zones"); err != nil {
		return err
	}
	return p.compareWrites(ctx, r, "zones", other, s, small)
}
