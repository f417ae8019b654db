// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kubi.zone/kubizone/test/bench/figures"
)

type report struct {
	*figures.Results
	plan plan
}

var rows = []struct{ what, unit string }{
	{"ready", "s"}, {"ready CPU", "s"}, {"resident", "MB"}, {"holds", "MB"},
	{"create ms", "ms"}, {"delete ms", "ms"}, {"creates", "/s"}, {"deletes", "/s"},
	{"create ms ÷ small", ""}, {"delete ms ÷ small", ""}, {"creates ÷ small", ""}, {"deletes ÷ small", ""},
	{"create CPU", "µs"}, {"delete CPU", "µs"}, {"create CPU ÷ small", ""}, {"delete CPU ÷ small", ""},
	{"create allocations", ""}, {"delete allocations", ""},
	{"entries", "s"}, {"entries CPU", "µs"}, {"entries allocations", ""}, {"entries holds", "MB"},
	{"axfr", "s"}, {"axfr CPU", "µs"}, {"axfr allocations", ""}, {"axfr holds", "MB"},
	{"rename answered", "ms"}, {"rename follows", "/s"}, {"rename follows ÷ creates", ""}, {"rename neighbour", ""},
	{"rename neighbour create p99", "ms"}, {"rename neighbour create p99 ÷ alone", ""}, {"rename neighbour read p99", "ms"}, {"rename neighbour read p99 ÷ alone", ""},
	{"withdraw answered", "ms"}, {"withdraw follows", "/s"}, {"withdraw follows ÷ creates", ""}, {"withdraw neighbour", ""},
	{"withdraw neighbour create p99", "ms"}, {"withdraw neighbour create p99 ÷ alone", ""}, {"withdraw neighbour read p99", "ms"}, {"withdraw neighbour read p99 ÷ alone", ""},
}

func (r report) formatCell(name string) string {
	v, ok := r.Median(name)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%.4g", v)
}

func (r report) printReport(out io.Writer) {
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
			cell := r.formatCell(name + "/" + row.what)
			line, filled = append(line, cell), filled || cell != ""
		}
		if filled {
			table = append(table, line)
		}
	}
	figures.Table(out, head, table)
	r.perRecord(out)
	targets := slices.Clone(idleTargets)
	compared := []string{"zones/"}
	if n := len(r.plan.Sizes); n > 1 {
		compared = append([]string{nameFigure(r.plan.Sizes[n-1], "")}, compared...)
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
			figures.Target{What: fmt.Sprintf("%s of %d records: they follow ÷ plain writes", mass.what, r.plan.Mass),
				Name: nameFigure(r.plan.Mass, mass.what+" follows ÷ creates"), Bound: 0.8},
			figures.Target{What: fmt.Sprintf("%s of %d records: a neighbour's create ÷ before", mass.what, r.plan.Mass),
				Name: nameFigure(r.plan.Mass, mass.what+" neighbour"), Bound: 2, Most: true})
	}
	r.Targets(out, targets, nil)
}

func (r report) perRecord(out io.Writer) {
	small, large := r.plan.Sizes[0], r.plan.Sizes[len(r.plan.Sizes)-1]
	var table [][]string
	for _, what := range []string{"holds", "resident"} {
		from, ok := r.Median(nameFigure(small, what))
		to, also := r.Median(nameFigure(large, what))
		if ok && also && large > small {
			table = append(table, []string{what, fmt.Sprintf("%.0f", (to-from)*1e6/float64(large-small))})
		}
	}
	figures.Table(out, []string{fmt.Sprintf("octets for a record, %d to %d", small, large), ""}, table)
}
