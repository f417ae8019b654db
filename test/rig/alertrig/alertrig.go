// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package alertrig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// Series are samples by name and labels.
type Series map[string]float64

var sampleLine = regexp.MustCompile(`^([a-z_]+)(?:\{([^}]*)\})? (\S+)$`)

// AddScrape adds a process's metrics that a rule may name.
func (s Series) AddScrape(job, instance, text string) {
	target := fmt.Sprintf("instance=%q", instance)
	for line := range strings.Lines(text) {
		// kube-apiserver has tens of thousands of other lines.
		if !strings.HasPrefix(line, "kubizone_") && !strings.HasPrefix(line, "aggregator_unavailable_apiservice{") {
			continue
		}
		found := sampleLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if found == nil || strings.HasSuffix(found[1], "_bucket") {
			continue
		}
		if value, err := strconv.ParseFloat(found[3], 64); err == nil {
			s[fmt.Sprintf("%s{%s}", found[1], strings.Trim(target+","+found[2], ","))] = value
		}
	}
	s[fmt.Sprintf("up{%s,job=%q}", target, job)] = 1
}

// Scrape reads a target's metrics. A target without an answer is down.
func (s Series) Scrape(web *http.Client, job, instance, url string) {
	s[fmt.Sprintf("up{instance=%q,job=%q}", instance, job)] = 0
	answer, err := web.Get(url)
	if err != nil {
		return
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err == nil && answer.StatusCode == http.StatusOK {
		s.AddScrape(job, instance, string(text))
	}
}

// State is a state of processes.
type State struct {
	Now Series
	// Before are the series Apart earlier; counters go on at this rate. Without Before counters stay.
	Before Series
	Apart  time.Duration
	// Lasts is the time for which the state goes on; 0 means an hour.
	Lasts time.Duration
}

// ages grow while a state lasts.
var ages = regexp.MustCompile(`^kubizone_(delivery_oldest_change|fleet_unready|dnssec_phase|dnssec_ds_pending)_seconds`)

const (
	// steps of a state: an hour has one each five minutes. promtool's time grows with their number.
	steps  = 12
	labels = "alertname, certificate, class, job, name, namespace, phase, process, server"
)

// Judge returns the alerts that fire at the end of the state, sorted, as NAME or NAME LABEL. Times begin at 0, as
// promtool's.
func (s State) Judge(ctx context.Context) (alerts []string, err error) {
	type series struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	lasts := s.Lasts
	if lasts == 0 {
		lasts = time.Hour
	}
	step := (lasts / steps).Seconds()
	var input []series
	for _, name := range slices.Sorted(maps.Keys(s.Now)) {
		value, growth := s.Now[name], 0.0
		switch family, _, _ := strings.Cut(name, "{"); {
		case strings.HasSuffix(family, "_timestamp_seconds"):
			value += lasts.Seconds() - float64(time.Now().Unix())
		case ages.MatchString(family) && value > 0:
			growth = step
		case strings.HasSuffix(family, "_total") && s.Before != nil:
			growth = (value - s.Before[name]) / s.Apart.Seconds() * step
		}
		input = append(input, series{name, fmt.Sprintf("%f%+fx%d", value, growth, steps)})
	}
	root, err := rig.Root()
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(map[string]any{
		"rule_files":          []string{filepath.Join(root, "charts/kubizone/rules/kubizone.yaml")},
		"evaluation_interval": fmt.Sprintf("%.0fs", step),
		"tests": []any{map[string]any{"interval": fmt.Sprintf("%.0fs", step), "input_series": input, "promql_expr_test": []any{
			map[string]any{
				// promtool prints the result as it expects none.
				"expr":      `max by (` + labels + `) (ALERTS{alertstate="firing"}) or vector(2)`,
				"eval_time": fmt.Sprintf("%.0fs", step*steps), "exp_samples": []any{}}}}},
	})
	if err != nil {
		return nil, err
	}
	return runPromtool(ctx, text)
}

var (
	firing = regexp.MustCompile(`\{[^}]*\}`)
	label  = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

func runPromtool(ctx context.Context, test []byte) (alerts []string, err error) {
	promtool, err := rig.Find("promtool", "hack/install-peers.sh")
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "alerts-*.yaml")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(test)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	out, _ := exec.CommandContext(ctx, promtool, "test", "rules", file.Name()).CombinedOutput()
	_, got, ok := strings.Cut(string(out), "got:")
	if !ok {
		return nil, fmt.Errorf("promtool: %s\n%s", out, test)
	}
	for _, one := range firing.FindAllString(got, -1) {
		name, of := "", ""
		for _, pair := range label.FindAllStringSubmatch(one, -1) {
			if pair[1] == "alertname" {
				name = pair[2]
			} else {
				of += " " + pair[2]
			}
		}
		if name != "" {
			alerts = append(alerts, name+of)
		}
	}
	slices.Sort(alerts)
	return alerts, nil
}

// Expect fails the test if other alerts fire.
func (s State) Expect(t testing.TB, want ...string) {
	t.Helper()
	got := must.Get(s.Judge(t.Context()))(t)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("the alerts %q fire, want %q", got, want)
	}
}

// ExpectOf is Expect for a single alert.
func (s State) ExpectOf(t testing.TB, alert string, want ...string) {
	t.Helper()
	got := must.Get(s.Judge(t.Context()))(t)
	got = slices.DeleteFunc(got, func(one string) bool { name, _, _ := strings.Cut(one, " "); return name != alert })
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("%s fires as %q, want %q", alert, got, want)
	}
}
