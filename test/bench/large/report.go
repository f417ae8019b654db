// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kubi.zone/kubizone/test/bench/figures"
)

// report is how a run is printed: Markdown, for docs/performance.md.
type report struct {
	*figures.Results
	plan plan
}

// rows of the table, in order.
var rows = []struct{ what, unit string }{
	{"ready", "s"}, {"ready CPU", "s"}, {"resident", "MB"}, {"holds", "MB"},
	{"primary has all", "s"}, {"primary resident", "MB"},
	{"create ms", "ms"}, {"delete ms", "ms"}, {"creates", "/s"}, {"deletes", "/s"},
	{"create ms ÷ small", ""}, {"delete ms ÷ small", ""}, {"creates ÷ small", ""}, {"deletes ÷ small", ""},
	{"create CPU", "µs"}, {"delete CPU", "µs"}, {"create CPU ÷ small", ""}, {"delete CPU ÷ small", ""},
	{"create allocations", ""}, {"delete allocations", ""},
	{"entries", "s"}, {"entries CPU", "µs"}, {"entries allocations", ""}, {"entries holds", "MB"},
	{"axfr", "s"}, {"axfr CPU", "µs"}, {"axfr allocations", ""}, {"axfr holds", "MB"},
	{"a watcher", "kB"}, {"event to all watchers", "ms"}, {"an event to a watcher CPU", "µs"},
	{"slow readers hold", "MB"}, {"slow readers cut after", "events"}, {"slow readers told 410", ""},
	{"rename answered", "ms"}, {"rename follows", "/s"}, {"rename follows ÷ creates", ""}, {"rename neighbour", ""},
	{"rename neighbour create p99", "ms"}, {"rename neighbour create p99 ÷ alone", ""}, {"rename neighbour read p99", "ms"}, {"rename neighbour read p99 ÷ alone", ""},
	{"withdraw answered", "ms"}, {"withdraw follows", "/s"}, {"withdraw follows ÷ creates", ""}, {"withdraw neighbour", ""},
	{"withdraw neighbour create p99", "ms"}, {"withdraw neighbour create p99 ÷ alone", ""}, {"withdraw neighbour read p99", "ms"}, {"withdraw neighbour read p99 ÷ alone", ""},
}

func (r report) cell(name string) string {
	v, ok := r.Median(name)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%.4g", v)
}

func (r report) print(out io.Writer) {
	r.Header.Print(out)
	head := []string{"one zone of"}
	var names []string
	for _, n := range r.plan.Sizes {
		head, names = append(head, fmt.Sprint(n)), append(names, fmt.Sprint(n))
	}
	if r.plan.Mass > 0 && !slices.Contains(r.plan.Sizes, r.plan.Mass) {
		head, names = append(head, fmt.Sprint(r.plan.Mass)), append(names, fmt.Sprint(r.plan.Mass))
	}
	if r.plan.Zones > 0 {
		head, names = append(head, fmt.Sprintf("%d zones of ten", r.plan.Zones)), append(names, "zones")
	}
	var table [][]string
	for _, row := range rows {
		line, filled := []string{strings.TrimSpace(strings.TrimSuffix(row.what, " ms") + " " + row.unit)}, false
		for _, name := range names {
			cell := r.cell(name + "/" + row.what)
			line, filled = append(line, cell), filled || cell != ""
		}
		if filled {
			table = append(table, line)
		}
	}
	figures.Table(out, head, table)
	r.perRecord(out)
	var targets []figures.Target
	compared := []string{"zones/"}
	if n := len(r.plan.Sizes); n > 1 { // the first is what the others are compared with
		compared = append([]string{at(r.plan.Sizes[n-1], "")}, compared...)
	}
	for _, where := range compared {
		for _, op := range []string{"create", "delete"} {
			targets = append(targets,
				figures.Target{What: "a lone " + op + ", " + strings.TrimSuffix(where, "/") + " ÷ small", Name: where + op + " ms ÷ small", Bound: 1.1, Most: true},
				figures.Target{What: op + "s by 16, " + strings.TrimSuffix(where, "/") + " ÷ small", Name: where + op + "s ÷ small", Bound: 0.9})
		}
	}
	for _, mass := range masses {
		targets = append(targets,
			figures.Target{What: fmt.Sprintf("%s of %d records: they follow ÷ plain writes", mass.what, r.plan.Mass), Name: at(r.plan.Mass, mass.what+" follows ÷ creates"), Bound: 0.8},
			figures.Target{What: fmt.Sprintf("%s of %d records: a neighbour's create ÷ before", mass.what, r.plan.Mass), Name: at(r.plan.Mass, mass.what+" neighbour"), Bound: 2, Most: true})
	}
	r.Targets(out, targets, nil)
}

// perRecord prints what a record more takes: the difference between the largest size and the smallest.
func (r report) perRecord(out io.Writer) {
	small, large := r.plan.Sizes[0], r.plan.Sizes[len(r.plan.Sizes)-1]
	var table [][]string
	for _, what := range []string{"holds", "resident", "primary resident"} {
		from, ok := r.Median(at(small, what))
		to, also := r.Median(at(large, what))
		if ok && also && large > small {
			table = append(table, []string{what, fmt.Sprintf("%.0f", (to-from)*1e6/float64(large-small))})
		}
	}
	figures.Table(out, []string{fmt.Sprintf("octets for a record, %d to %d", small, large), ""}, table)
}

// plot draws a curve for each figure that grows with the records, on logarithmic axes.
func (r report) plot(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for file, lines := range map[string][]string{
		"growth-time.svg":   {"ready", "entries", "axfr", "primary has all"},
		"growth-memory.svg": {"resident", "holds", "primary resident"},
		"growth-writes.svg": {"create ms", "delete ms"},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(r.curves(lines)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const (
	width, height = 640, 360
	margin        = 60
)

// curves is an SVG of some figures over the number of records.
func (r report) curves(lines []string) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, line := range lines {
		for _, n := range r.plan.Sizes {
			if v, ok := r.Median(at(n, line)); ok && v > 0 {
				low, high = min(low, math.Floor(math.Log10(v))), max(high, math.Ceil(math.Log10(v)))
			}
		}
	}
	if math.IsInf(low, 1) {
		low, high = 0, 1
	}
	high = max(high, low+1)
	left, right := math.Log10(float64(r.plan.Sizes[0])), math.Log10(float64(r.plan.Sizes[len(r.plan.Sizes)-1]))
	right = max(right, left+1)
	x := func(v float64) float64 { return margin + (math.Log10(v)-left)/(right-left)*(width-2*margin) }
	y := func(v float64) float64 { return height - margin - (math.Log10(v)-low)/(high-low)*(height-2*margin) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	for e := low; e <= high; e++ {
		at := y(math.Pow(10, e))
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n", margin, at, width-margin, margin-6, at+4, math.Pow(10, e))
	}
	for _, n := range r.plan.Sizes {
		at := x(float64(n))
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%d records</text>`+"\n", at, margin, height-margin, at, height-margin+18, n)
	}
	colours := []string{"#0b62a4", "#c0392b", "#27853b", "#7d3c98"}
	for i, line := range lines {
		var points []string
		unit := ""
		for _, row := range rows {
			if row.what == line {
				unit = row.unit
			}
		}
		for _, n := range r.plan.Sizes {
			if v, ok := r.Median(at(n, line)); ok && v > 0 {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(float64(n)), y(v)))
			}
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colours[i])
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s, %s</text>`+"\n", margin+8, margin/2+14*i, colours[i], strings.TrimSuffix(line, " ms"), unit)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
