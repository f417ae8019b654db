// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/test/bench/figures"
)

// plan of a run.
type plan struct {
	Namespaces, Clusters, Servers, Zones int
	Idle                                 time.Duration
	Changes                              int
	Kubizone                             string
}

func defaultPlan() plan {
	return plan{Namespaces: 20, Clusters: 10, Servers: 5, Zones: 50, Idle: 3 * time.Minute, Changes: 200}
}

// run measures everything and returns what it found.
func (p plan) run(ctx context.Context, log io.Writer) (*figures.Results, error) {
	dir, err := os.MkdirTemp("", "kubizone-bench-fleet-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &stage{plan: p, dir: dir, say: func(format string, args ...any) { fmt.Fprintf(log, "bench-fleet: "+format+"\n", args...) }}
	defer s.close()
	results := figures.New(p.Namespaces * p.Clusters * p.Zones)
	results.Header.Rounds = 1
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	for _, step := range s.steps() {
		if err := step(ctx, results); err != nil {
			return nil, err
		}
	}
	results.Header.LoadAfter = figures.LoadAverage()
	return results, nil
}

func (s *stage) steps() []func(context.Context, *figures.Results) error {
	return []func(context.Context, *figures.Results) error{s.grow, s.idle, s.option, s.restart, s.changes}
}

// grow makes all servers and zones.
func (s *stage) grow(ctx context.Context, into *figures.Results) error {
	into.Add("servers", "servers", float64(len(s.classes())*s.plan.Servers))
	into.Add("zones", "zones", float64(len(s.classes())*s.plan.Zones))
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"servers made", s.makeServers}, {"followers", s.startFollowers}, {"zones made", s.makeZones}} {
		began := time.Now()
		before, err := figures.CPU(s.processes["fleet"].Pid())
		if err != nil {
			return err
		}
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		after, err := figures.CPU(s.processes["fleet"].Pid())
		if err != nil {
			return err
		}
		into.Add(step.name, "s", time.Since(began).Seconds())
		into.Add(step.name+"/fleet CPU", "s", (after - before).Seconds())
		s.say("%s after %s, load %s", step.name, time.Since(began).Round(time.Second), figures.LoadAverage())
	}
	return nil
}

// idle counts what is asked while nothing changes, after the requests have come to rest.
func (s *stage) idle(ctx context.Context, into *figures.Results) error {
	if err := s.calm(ctx); err != nil {
		return err
	}
	used := map[string]time.Duration{}
	for name, process := range s.processes {
		at, err := figures.CPU(process.Pid())
		if err != nil {
			return err
		}
		used[name] = at
	}
	questions, began := s.questions.Load(), time.Now()
	s.say("idle for %s, load %s", s.plan.Idle, figures.LoadAverage())
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.plan.Idle):
	}
	ended := time.Now()
	minutes := ended.Sub(began).Minutes()
	for name, process := range s.processes {
		after, err := figures.CPU(process.Pid())
		if err != nil {
			return err
		}
		resident, err := figures.Resident(process.Pid(), "VmRSS")
		if err != nil {
			return err
		}
		into.Add("idle/"+name+"/CPU", "ms/s", (after-used[name]).Seconds()*1e3/ended.Sub(began).Seconds())
		into.Add("idle/"+name+"/resident", "MB", float64(resident)/1e6)
	}
	into.Add("idle/SOA questions", "/min", float64(s.questions.Load()-questions)/minutes)
	for _, server := range []string{"kube", "kubizone"} {
		counts, err := s.count(server, began, ended)
		if err != nil {
			return err
		}
		for what, n := range counts {
			into.Add("requests/"+server+"/"+what, "/min", float64(n)/minutes)
		}
	}
	return nil
}

// ours are the clients whose requests are told apart.
var ours = []string{"kubizone-fleet", "kubizone-controller", "kubizone-primary", "kubizone", "bench"}

// count are the requests that a server answered within a time, by client, verb and resource.
func (s *stage) count(server string, from, to time.Time) (map[string]int, error) {
	file, err := os.Open(s.auditLog(server))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	counts := map[string]int{}
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return counts, nil
		}
		if err != nil {
			return nil, err
		}
		var event struct {
			Verb, UserAgent, RequestURI, Stage string
			ObjectRef                          struct{ Resource, Subresource string }
			StageTimestamp                     metav1.MicroTime
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, err
		}
		// A watch is counted when it begins, and has a second event when it ends.
		if event.StageTimestamp.Time.Before(from) || event.StageTimestamp.Time.After(to) || event.Verb == "watch" && event.Stage != "ResponseStarted" {
			continue
		}
		agent, _, _ := strings.Cut(event.UserAgent, "/")
		if !slices.Contains(ours, agent) {
			agent = "others"
		}
		what := event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			what += "/" + event.ObjectRef.Subresource
		}
		if what == "" {
			what, _, _ = strings.Cut(event.RequestURI, "?")
		}
		counts[agent+" "+event.Verb+" "+what]++
	}
}

// calm returns when fleet and controller have made no write for ten seconds.
func (s *stage) calm(ctx context.Context) error {
	const quiet = 10 * time.Second
	return s.until(ctx, "fleet and controller write nothing", func() (bool, error) {
		now := time.Now()
		for _, server := range []string{"kube", "kubizone"} {
			counts, err := s.count(server, now.Add(-quiet), now)
			if err != nil {
				return false, err
			}
			for what := range counts {
				fields := strings.Fields(what)
				if fields[0] == "bench" || fields[0] == "others" || fields[1] == "get" || fields[1] == "list" || fields[1] == "watch" || fields[2] == "leases" {
					continue
				}
				return false, nil
			}
		}
		return true, nil
	})
}

// option changes one option of every cluster and waits until it is in each server's configuration.
func (s *stage) option(ctx context.Context, into *figures.Results) error {
	return s.timeOption(ctx, into, "option", true, func() error { return nil })
}

// restart has a fleet that starts find all servers as they shall be, and another one that an option has changed.
func (s *stage) restart(ctx context.Context, into *figures.Results) error {
	s.processes["fleet"].End()
	began := time.Now()
	if err := s.runFleet(); err != nil {
		return err
	}
	// Each look applies the Deployment of a server once, since a fleet that starts knows of no former one.
	if err := s.until(ctx, "the fleet has looked at everything", func() (bool, error) {
		counts, err := s.count("kube", began, time.Now())
		return counts["kubizone-fleet patch deployments"] >= len(s.classes())*s.plan.Servers, err
	}); err != nil {
		return err
	}
	used, err := figures.CPU(s.processes["fleet"].Pid())
	if err != nil {
		return err
	}
	into.Add("restart", "s", time.Since(began).Seconds())
	into.Add("restart/fleet CPU", "s", used.Seconds())
	counts, err := s.count("kube", began, time.Now())
	if err != nil {
		return err
	}
	for what, n := range counts {
		if strings.HasPrefix(what, "kubizone-fleet ") {
			into.Add("restart/"+what, "requests", float64(n))
		}
	}
	s.processes["fleet"].End()
	return s.timeOption(ctx, into, "restart and option", false, s.runFleet)
}

func (s *stage) timeOption(ctx context.Context, into *figures.Results, name string, on bool, then func() error) error {
	patch := fmt.Appendf(nil, `{"spec":{"config":{"queryLog":%t}}}`, on)
	began := time.Now()
	if _, _, err := figures.Callers(ctx, callers, len(s.classes()), func(ctx context.Context, i int) error {
		at := s.classes()[i]
		_, err := s.ours.Bind9V1alpha1().Bind9Clusters(at.Namespace).Patch(ctx, at.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}); err != nil {
		return err
	}
	into.Add(name+"/written", "s", time.Since(began).Seconds())
	if err := then(); err != nil {
		return err
	}
	want := fmt.Sprintf("querylog %s", map[bool]string{true: "yes", false: "no"}[on])
	before, err := figures.CPU(s.processes["fleet"].Pid())
	if err != nil {
		return err
	}
	if err := s.until(ctx, "every server has the option", func() (bool, error) {
		list, err := s.core.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=kubizone-fleet"})
		if err != nil {
			return false, err
		}
		n := 0
		for i := range list.Items {
			if strings.Contains(list.Items[i].Data["named.conf"], "querylog yes") == on {
				n++
			}
		}
		return n == len(s.classes())*s.plan.Servers, nil
	}); err != nil {
		return fmt.Errorf("%s: %w", want, err)
	}
	after, err := figures.CPU(s.processes["fleet"].Pid())
	if err != nil {
		return err
	}
	into.Add(name, "s", time.Since(began).Seconds())
	into.Add(name+"/fleet CPU", "s", (after - before).Seconds())
	s.say("%s after %s, load %s", name, time.Since(began).Round(time.Second), figures.LoadAverage())
	return nil
}

// changes times the way of a change of a zone to all servers of its class: from before the request until the last
// follower has transferred a serial that has it.
func (s *stage) changes(ctx context.Context, into *figures.Results) error {
	zones := s.ours.KubizoneV1alpha1().Zones("zones")
	servers := s.plan.Servers
	var took, each []time.Duration
	for i := range s.plan.Changes {
		zone := zoneName(i % s.plan.Zones)
		type arrival struct {
			serial uint32
			at     time.Time
			by     string
		}
		arrivals := make(chan arrival, 100*servers)
		s.mu.Lock()
		s.waiting = func(f *follower, of string, serial uint32, at time.Time) {
			if of == zone+".example." {
				arrivals <- arrival{serial, at, f.at.String()}
			}
		}
		s.mu.Unlock()
		began := time.Now()
		changed, err := zones.Patch(ctx, zone, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"nameServers":[{"name":"ns%d.example.net."}]}}`, i), metav1.PatchOptions{})
		if err != nil {
			return err
		}
		have := map[string]bool{}
		for limit := time.After(time.Minute); len(have) < servers; {
			select {
			case a := <-arrivals:
				if int64(a.serial) >= changed.Status.Serial && !have[a.by] {
					have[a.by] = true
					each = append(each, a.at.Sub(began))
				}
			case <-limit:
				return fmt.Errorf("change %d: %d of %d servers have serial %d of %s after a minute", i, len(have), servers, changed.Status.Serial, zone)
			}
		}
		took = append(took, time.Since(began))
	}
	for q, name := range map[float64]string{0.5: "p50", 0.99: "p99"} {
		into.Add("change/all servers/"+name, "ms", figures.Quantile(took, q))
		into.Add("change/one server/"+name, "ms", figures.Quantile(each, q))
	}
	return nil
}
