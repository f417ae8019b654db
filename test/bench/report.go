// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"kubi.zone/kubizone/test/bench/figures"
)

var targets = []figures.Target{
	{What: "a lone caller's create ÷ plain, p50", Name: writeName("create", 1, armOne+" ÷ "+armPlain) + "/p50", Most: true, Bound: 1.15},
	{What: "a lone caller's update ÷ plain, p50", Name: writeName("update", 1, armOne+" ÷ "+armPlain) + "/p50", Most: true, Bound: 1.15},
	{What: "a lone caller's delete ÷ plain, p50", Name: writeName("delete", 1, armOne+" ÷ "+armPlain) + "/p50", Most: true, Bound: 1.15},
	{What: "creates by 16 callers in 16 zones ÷ plain", Name: writeName("create", 16, armSixteen+" ÷ "+armPlain) + "/rate", Bound: 0.85},
	{What: "creates by 64 callers in 16 zones ÷ plain", Name: writeName("create", 64, armSixteen+" ÷ "+armPlain) + "/rate", Bound: 0.85},
	{What: "creates by 16 callers in one zone ÷ plain", Name: writeName("create", 16, armOne+" ÷ "+armPlain) + "/rate", Bound: 0.75},
	{What: "creates by 64 callers in one zone ÷ plain", Name: writeName("create", 64, armOne+" ÷ "+armPlain) + "/rate", Bound: 0.8},
}

// slowTargets are for a disk 5 ms slower.
var slowTargets = []figures.Target{
	{What: "a lone caller's create ÷ plain, p50", Name: writeName("create", 1, armOne+" ÷ "+armPlain) + "/p50", Most: true, Bound: 1.1},
	{What: "creates by 16 callers in one zone ÷ plain", Name: writeName("create", 16, armOne+" ÷ "+armPlain) + "/rate", Bound: 0.5},
	{What: "creates by 64 callers in one zone ÷ plain", Name: writeName("create", 64, armOne+" ÷ "+armPlain) + "/rate", Bound: 0.5},
}

type report struct {
	*figures.Results
	slow bool
}

func (r report) printReport(out io.Writer) {
	r.Header.Print(out)
	r.printWrites(out)
	if r.slow {
		r.Targets(out, slowTargets, nil)
	} else {
		r.Targets(out, targets, nil)
	}
}

func (r report) printWrites(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "write\tcallers\tarm\tper s\t÷ plain\tp50 ms\t÷ plain\tp99 ms\ttxns\treads\tfsyncs\tWAL B\tmallocs\talloc KB\tserver µs\t÷ plain\tetcd µs\t")
	for _, op := range operations {
		for _, callers := range r.listCallers() {
			for _, a := range []string{armOne, armSixteen, armPlain} {
				at := writeName(op, callers, a)
				if _, ok := r.Median(at + "/rate"); !ok {
					continue
				}
				cell := func(name, format string, scale float64) string {
					v, ok := r.Median(name)
					if !ok {
						return ""
					}
					return fmt.Sprintf(format, v*scale)
				}
				of := func(what, format string) string { return cell(at+"/"+what, format, 1) }
				over := func(under, what string) string {
					return cell(writeName(op, callers, a+" ÷ "+under)+"/"+what, "%.2f", 1)
				}
				fmt.Fprintln(w, strings.Join([]string{
					op, fmt.Sprint(callers), a, of("rate", "%.0f"), over(armPlain, "rate"),
					of("p50", "%.2f"), over(armPlain, "p50"), of("p99", "%.1f"),
					of("txns", "%.3f"), of("reads", "%.3f"), of("fsyncs", "%.3f"), of("wal", "%.0f"),
					of("mallocs", "%.0f"), cell(at+"/allocated", "%.0f", 1./1024), of("cpu", "%.0f"), over(armPlain, "cpu"), of("etcd-cpu", "%.0f"),
				}, "\t")+"\t")
			}
		}
	}
	_ = w.Flush()
	fmt.Fprintln(out)
}

func (r report) listCallers() []int {
	var out []int
	for _, s := range r.Series {
		var op, rest string
		var n int
		if op, rest, _ = strings.Cut(s.Name, "/"); slices.Contains(operations, op) {
			if _, err := fmt.Sscanf(rest, "%d/", &n); err == nil && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out
}
