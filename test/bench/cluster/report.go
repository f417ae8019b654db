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

// targets: that a tenant is authorized must cost little beside what system:masters, who are not asked about, get.
var targets = func() (out []figures.Target) {
	for _, via := range []string{direct, aggregated} {
		ours := pair{arm{kind: records, via: via, user: tenant}.String(), arm{kind: records, via: via, user: masters}.String()}
		for _, op := range operations {
			if op != "get" {
				out = append(out, figures.Target{What: "a tenant's " + op + "s, " + via + " ÷ system:masters', 16 callers", Name: ours.String() + "/" + at(op, many), Bound: 0.8})
			}
		}
	}
	return out
}()

// report is how a run is printed: Markdown, for docs/performance.md.
type report struct{ *figures.Results }

func (r report) print(out io.Writer) {
	r.Header.Print(out)
	fmt.Fprintf(out, "Objects of %s, %s and %s octets. A rate is of %d callers, a time the median of a lone one.\n\n",
		r.cell("size/"+records.name), r.cell("size/"+flunders.name), r.cell("size/"+custom.name), many)
	spent := func(m measure) bool { return m.unit == "µs" }
	answered := func(m measure) bool { return !spent(m) }
	r.printMeasures(out, answered, false)
	fmt.Fprint(out, "Ratios in the same round: more is better for rates, less for times.\n\n")
	r.printMeasures(out, answered, true)
	fmt.Fprintf(out, "CPU time of kube-apiserver and the server behind it for one of the requests of %d callers, which a busy neighbour changes least.\n\n", many)
	r.printMeasures(out, spent, false)
	r.printMeasures(out, spent, true)
	r.printSizes(out)
	r.Targets(out, targets, nil)
}

// printMeasures prints a line for each arm, or for each ratio of two, and a column for each measure chosen.
func (r report) printMeasures(out io.Writer, chosen func(measure) bool, ratios bool) {
	head := []string{""}
	var rows [][]string
	for _, name := range r.names() {
		if strings.Contains(name, "÷") == ratios {
			rows = append(rows, []string{name})
		}
	}
	for _, m := range measures {
		if !chosen(m) {
			continue
		}
		head = append(head, m.head+" "+m.unit)
		for i := range rows {
			rows[i] = append(rows[i], r.cell(rows[i][0]+"/"+m.name))
		}
	}
	figures.Table(out, head, rows)
}

// names of arms and pairs, in the order in which they were measured.
func (r report) names() (out []string) {
	for _, s := range r.Series {
		if name, ok := strings.CutSuffix(s.Name, "/"+listed); ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func (r report) cell(name string) string {
	v, ok := r.Median(name)
	if !ok {
		return ""
	}
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func (r report) printSizes(out io.Writer) {
	if _, ok := r.Median("fill/Records"); !ok {
		return
	}
	var rows [][]string
	for _, with := range []string{withPopulation, withBig} {
		what := map[string]string{withPopulation: "what is listed", withBig: fmt.Sprintf("%d objects", r.Header.Records)}[with]
		for _, of := range []struct{ name, unit string }{{"start", "from start to ready, s"}, {"resident", "resident, MB"}} {
			cell := func(name string) string { return r.cell(of.name + "/" + name + "/" + with) }
			rows = append(rows, []string{of.unit + ", with " + what, cell(records.name), cell(flunders.name), cell(ratio), cell(custom.name)})
		}
	}
	figures.Table(out, []string{"", "kubizone apiserver", "sample-apiserver", "÷", "kube-apiserver with the CRD"}, rows)
}
