// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"kubi.zone/kubizone/test/bench/figures"
)

// targets of users that need quick changes.
var targets = []figures.Target{
	{What: "a change to BIND's answer, 100 a second, p99, ms", Name: changeLabel + toBIND + "/" + atRate + "/p99/" + pooled, Most: true, Bound: 1000},
	{What: "a change to Knot's answer, 100 a second, p99, ms", Name: changeLabel + toKnot + "/" + atRate + "/p99/" + pooled, Most: true, Bound: 1000},
}

// reported have no target.
var reported = func() (out []figures.Target) {
	for _, pair := range pairs {
		for _, load := range []struct{ name, what string }{{atOnce, "lone"}, {atRate, "100 a second"}} {
			out = append(out, figures.Target{What: "a change, " + pair[0] + " ÷ " + pair[1] + ", " + load.what + ", p50", Name: changeLabel + pair[0] + " ÷ " + pair[1] + "/" + load.name + "/p50"})
		}
	}
	return out
}()

// report is how a run is printed: Markdown, for docs/performance.md.
type report struct{ *figures.Results }

func (r report) printReport(out io.Writer) {
	r.Header.Print(out)
	r.printChanges(out)
	r.Targets(out, targets, reported)
}

func (r report) formatCell(name string) string {
	v, ok := r.Median(name)
	switch {
	case !ok:
		return ""
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func (r report) printChanges(out io.Writer) {
	var rows [][]string
	for _, name := range []string{toKnot, knotToKnot, pairs[0][0] + " ÷ " + pairs[0][1], toBIND, knotToBIND, pairs[1][0] + " ÷ " + pairs[1][1], toWebhook} {
		row := []string{name}
		for _, load := range []string{atOnce, atRate} {
			at := changeLabel + name + "/" + load
			row = append(row, r.formatCell(at+"/p50"))
			if p99 := r.formatCell(at + "/p99/" + pooled); p99 != "" {
				row = append(row, p99)
			} else {
				row = append(row, r.formatCell(at+"/p99"))
			}
		}
		rows = append(rows, row)
	}
	figures.Table(out, []string{"change, ms", "lone p50", "p99", "100 a second p50", "p99"}, rows)
}
