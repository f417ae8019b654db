// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed testdata/metrics.txt
var text string

// Metric is a line of the list:
//
//	kubizone_primary_transfers_total{kind,result} counter of primary,up: Transfers by kind and result.
type Metric struct {
	Name      string
	Labels    []string
	Type      string
	Processes []string
	Help      string
}

var line = regexp.MustCompile(`^([a-z_]+)(?:\{([a-z,]+)\})? ([a-z]+) of ([a-z,]+): (.+)$`)

func (m Metric) String() string {
	if m.Name == "" {
		return "nothing"
	}
	labels := ""
	if len(m.Labels) > 0 {
		labels = "{" + strings.Join(m.Labels, ",") + "}"
	}
	return fmt.Sprintf("%s%s %s of %s: %s", m.Name, labels, m.Type, strings.Join(m.Processes, ","), m.Help)
}

func List() map[string]Metric {
	all := map[string]Metric{}
	for at := range strings.Lines(text) {
		found := line.FindStringSubmatch(strings.TrimSuffix(at, "\n"))
		if found == nil {
			panic(fmt.Sprintf("testdata/metrics.txt: %q is no metric", at))
		}
		one := Metric{Name: found[1], Type: found[3], Processes: strings.Split(found[4], ","), Help: found[5]}
		if found[2] != "" {
			one.Labels = strings.Split(found[2], ",")
		}
		all[one.Name] = one
	}
	return all
}

var helped = regexp.MustCompile(`(?m)^# HELP (kubizone_[a-z_]+) \[BETA\] (.*)\n# TYPE kubizone_[a-z_]+ ([a-z]+)$`)

// Check returns the differences from the list. Metrics with labels may be absent before a count.
func Check(process, served string) (wrong []string) {
	all, seen := List(), map[string]bool{}
	for _, found := range helped.FindAllStringSubmatch(served, -1) {
		one, listed := all[found[1]]
		seen[found[1]] = true
		switch {
		case !listed || !slices.Contains(one.Processes, process):
			wrong = append(wrong, fmt.Sprintf("%s serves %s, which test/metrics/testdata/metrics.txt does not have for it", process, found[1]))
		case one.Help != found[2] || one.Type != found[3]:
			wrong = append(wrong, fmt.Sprintf("%s serves %s as %s: %s; test/metrics/testdata/metrics.txt has %s", process, found[1], found[3], found[2], one))
		}
	}
	for _, one := range all {
		if slices.Contains(one.Processes, process) && len(one.Labels) == 0 && !seen[one.Name] {
			wrong = append(wrong, fmt.Sprintf("%s does not serve %s, which test/metrics/testdata/metrics.txt has for it", process, one.Name))
		}
	}
	slices.Sort(wrong)
	return wrong
}
