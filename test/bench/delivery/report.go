// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"kubi.zone/kubizone/test/bench/figures"
)

var targets = []figures.Target{
	{What: "a lone change to BIND's answer, p99, ms", Name: changeLabel + toBIND + "/" + atOnce + "/p99/" + pooled, Most: true, Bound: 150},
	{What: "a lone change to Knot's answer, p99, ms", Name: changeLabel + toKnot + "/" + atOnce + "/p99/" + pooled, Most: true, Bound: 150},
	{What: "a change to BIND's answer, 100 a second, p99, ms", Name: changeLabel + toBIND + "/" + atRate + "/p99/" + pooled, Most: true, Bound: 1000},
	{What: "a change to Knot's answer, 100 a second, p99, ms", Name: changeLabel + toKnot + "/" + atRate + "/p99/" + pooled, Most: true, Bound: 1000},
	{What: "update → kubizone → BIND ÷ update → Knot → BIND, lone, p50",
		Name: changeLabel + updateBIND + " ÷ " + knotToBIND + "/" + atOnce + "/p50", Most: true, Bound: 2},
	{What: "a message of one RRset ÷ an apply of one Record, CPU",
		Name: "write/" + byMessage + " ÷ " + byApply + "/cpu", Most: true, Bound: 1.3},
	{What: "a lease, of two RRsets with a prerequisite ÷ an apply of one Record, CPU",
		Name: "write/" + byLease + " ÷ " + byApply + "/cpu", Most: true, Bound: 2},
	{What: "a tenant's writes beside 200 messages a second of another one ÷ alone, p99",
		Name: "write/" + quietBeside + " ÷ " + quietAlone + "/p99", Most: true, Bound: 2},
	{What: "leases a second, 64 clients with one key", Name: "write/" + byLease + "/rate", Bound: 1000},
}

var reported = func() (out []figures.Target) {
	for _, pair := range pairs {
		for _, load := range []struct{ name, what string }{{atOnce, "lone"}, {atRate, "100 a second"}} {
			out = append(out, figures.Target{What: "a change, " + pair[0] + " ÷ " + pair[1] + ", " + load.what + ", p50", Name: changeLabel + pair[0] + " ÷ " + pair[1] + "/" + load.name + "/p50"})
		}
	}
	return out
}()

type report struct{ *figures.Results }

func (r report) printReport(out io.Writer) {
	r.Header.Print(out)
	r.printWrites(out)
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

func (r report) printWrites(out io.Writer) {
	var rows [][]string
	for _, name := range []string{byApply, byMessage, byLease, quietAlone, quietBeside} {
		row := []string{name}
		for _, of := range []string{"rate", "p50", "p99", "cpu"} {
			row = append(row, r.formatCell("write/"+name+"/"+of))
		}
		rows = append(rows, row)
	}
	figures.Table(out, []string{"by 64 callers, quiet by one", "a second", "p50, ms", "p99, ms", "CPU, µs"}, rows)
}

func (r report) printChanges(out io.Writer) {
	var rows [][]string
	for _, name := range []string{toKnot, knotToKnot, pairs[0][0] + " ÷ " + pairs[0][1], toBIND, knotToBIND,
		pairs[1][0] + " ÷ " + pairs[1][1], toWebhook, updateBIND} {
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
