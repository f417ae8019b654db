// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"kubi.zone/kubizone/test/bench/figures"
)

// targets of the sentences, and of users that need quick changes.
var targets = []figures.Target{
	{What: "a change to BIND's answer, 100 a second, p99, ms", Name: changeLabel + toBIND + "/" + atRate + "/p99/" + pooled, Most: true, Bound: 1000},
	{What: "a change to Knot's answer, 100 a second, p99, ms", Name: changeLabel + toKnot + "/" + atRate + "/p99/" + pooled, Most: true, Bound: 1000},
	{What: "what delivering a lone change writes: at most 2 and the changed record", Name: "writes/" + atOnce + "/per change", Most: true, Bound: 3},
	{What: "what delivering a change of a burst writes", Name: "writes/burst/per change", Most: true, Bound: 3},
	{What: "a class beside one that times out ÷ alone, lone, p50", Name: "slow/" + atOnce + "/p50", Most: true, Bound: 1.2},
	{What: "a class beside one that times out ÷ alone, 20 a second, p50", Name: "slow/" + atRate + "/p50", Most: true, Bound: 1.2},
	{What: "a class beside one that times out ÷ alone, 20 a second, p99", Name: "slow/" + atRate + "/p99", Most: true, Bound: 1.2},
	{What: "CPU time of a transfer ÷ the same octets from memory, both ends", Name: "transfer/" + ofPrimary + " ÷ " + ofMemory + "/cpu of both ends", Most: true, Bound: 4},
	{What: "writes while idle", Name: "idle/writes", Most: true, Bound: 0},
	{What: "NOTIFYs while idle", Name: "idle/notifies", Most: true, Bound: 0},
}

// reported have no target.
var reported = func() (out []figures.Target) {
	for _, pair := range pairs {
		for _, load := range []struct{ name, what string }{{atOnce, "lone"}, {atRate, "100 a second"}} {
			out = append(out, figures.Target{What: "a change, " + pair[0] + " ÷ " + pair[1] + ", " + load.what + ", p50", Name: changeLabel + pair[0] + " ÷ " + pair[1] + "/" + load.name + "/p50"})
		}
	}
	out = append(out,
		figures.Target{What: "rate of a transfer ÷ the same octets from memory", Name: "transfer/" + ofPrimary + " ÷ " + ofMemory + "/rate"},
		figures.Target{What: "CPU time of a transfer ÷ the same octets from memory, server alone", Name: "transfer/" + ofPrimary + " ÷ " + ofMemory + "/cpu"},
		figures.Target{What: "CPU time of a transfer ÷ Knot's of the same zone", Name: "transfer/" + ofPrimary + " ÷ " + ofKnot + "/cpu"})
	return out
}()

// report is how a run is printed: Markdown, for docs/performance.md.
type report struct{ *figures.Results }

func (r report) print(out io.Writer) {
	r.Header.Print(out)
	r.printChanges(out)
	r.printWrites(out)
	r.printSlow(out)
	r.printTransfers(out)
	r.printResident(out)
	r.printIdle(out)
	r.Targets(out, targets, reported)
}

func (r report) has(name string) bool { _, ok := r.Median(name); return ok }

func (r report) cell(name string) string {
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
	if !r.has(changeLabel + toKnot + "/" + atOnce + "/p50") {
		return
	}
	var rows [][]string
	for _, name := range []string{toKnot, knotToKnot, pairs[0][0] + " ÷ " + pairs[0][1], toBIND, knotToBIND, pairs[1][0] + " ÷ " + pairs[1][1], toWebhook} {
		row := []string{name}
		for _, load := range []string{atOnce, atRate} {
			at := changeLabel + name + "/" + load
			row = append(row, r.cell(at+"/p50"))
			if p99 := r.cell(at + "/p99/" + pooled); p99 != "" {
				row = append(row, p99)
			} else {
				row = append(row, r.cell(at+"/p99"))
			}
		}
		rows = append(rows, row)
	}
	figures.Table(out, []string{"change, ms", "lone p50", "p99", "100 a second p50", "p99"}, rows)
}

func (r report) printWrites(out io.Writer) {
	if !r.has("writes/" + atOnce + "/beside") {
		return
	}
	var rows [][]string
	for _, load := range []string{atOnce, "burst"} {
		row := []string{load}
		for _, what := range []string{"changes", "records/status", "deliveries/status", "zones/status", "beside", "per change"} {
			row = append(row, r.cell("writes/"+load+"/"+what))
		}
		rows = append(rows, row)
	}
	figures.Table(out, []string{"writes", "changed records", "records/status", "deliveries/status", "zones/status", "all beside the changes", "a changed record"}, rows)
}

func (r report) printSlow(out io.Writer) {
	if !r.has("slow/" + atOnce + "/p50") {
		return
	}
	var rows [][]string
	for _, name := range []string{alone + "/", beside + "/", ""} {
		row := []string{map[string]string{alone + "/": "alone, ms", beside + "/": "beside one that times out, ms", "": "÷"}[name]}
		for _, load := range []string{atOnce, atRate} {
			row = append(row, r.cell("slow/"+name+load+"/p50"), r.cell("slow/"+name+load+"/p99"))
		}
		row = append(row, r.cell("slow/"+name+"writes"))
		rows = append(rows, row)
	}
	figures.Table(out, []string{"a class", "lone p50", "p99", fmt.Sprintf("%d a second p50", slowRate), "p99", "writes beside a change"}, rows)
}

func (r report) printTransfers(out io.Writer) {
	if !r.has("transfer/" + ofPrimary + "/time") {
		return
	}
	var rows [][]string
	for _, name := range []string{ofPrimary, ofMemory, ofKnot, ofPrimary + " ÷ " + ofMemory, ofPrimary + " ÷ " + ofKnot} {
		at := "transfer/" + name + "/"
		rows = append(rows, []string{name, r.cell(at + "time"), r.cell(at + "rate"), r.cell(at + "cpu"), r.cell(at + "cpu of both ends"), r.cell(at + "size")})
	}
	figures.Table(out, []string{fmt.Sprintf("AXFR of %d records", r.Header.Records), "ms", "records/s", "CPU of the server, ms", "and of the reader, ms", "MB"}, rows)
}

func (r report) printResident(out io.Writer) {
	var rows [][]string
	for _, s := range r.Series {
		rest, ours := strings.CutPrefix(s.Name, "resident/")
		ratio, records, _ := strings.Cut(rest, "/")
		name, other, isRatio := strings.Cut(ratio, " ÷ ")
		if !ours || !isRatio {
			continue
		}
		if _, err := strconv.Atoi(records); err != nil {
			continue
		}
		rows = append(rows, []string{name, records, r.cell("resident/" + name + "/" + records), r.cell("resident/" + other + of(name, other) + "/" + records), r.cell(s.Name)})
	}
	if len(rows) > 0 {
		figures.Table(out, []string{"resident", "records", "MB", "Knot, MB", "÷"}, rows)
	}
}

func (r report) printIdle(out io.Writer) {
	if !r.has("idle/time") {
		return
	}
	figures.Table(out, []string{"idle, s", "zones", "writes", "results of health checks written", "NOTIFYs", "calls of the webhook", "CPU, ms a second"},
		[][]string{{r.cell("idle/time"), r.cell("idle/zones"), r.cell("idle/writes"), r.cell("idle/health"), r.cell("idle/notifies"), r.cell("idle/calls"), r.cell("idle/cpu")}})
}
