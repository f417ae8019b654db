// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// target is what a median must reach.
type target struct {
	what, name string
	most       bool // the bound is the most, not the least
	bound      float64
}

var targets = []target{
	{"a lone caller's create ÷ plain, p50", writeName("create", 1, armOne+" ÷ "+armPlain) + "/p50", true, 1.15},
	{"a lone caller's update ÷ plain, p50", writeName("update", 1, armOne+" ÷ "+armPlain) + "/p50", true, 1.15},
	{"a lone caller's delete ÷ plain, p50", writeName("delete", 1, armOne+" ÷ "+armPlain) + "/p50", true, 1.15},
	{"creates by 16 callers in 16 zones ÷ plain", writeName("create", 16, armSixteen+" ÷ "+armPlain) + "/rate", false, 0.85},
	{"creates by 64 callers in 16 zones ÷ plain", writeName("create", 64, armSixteen+" ÷ "+armPlain) + "/rate", false, 0.85},
	{"a create in the big zone ÷ in the small one, p50", "size/create/ratio", true, 1.10},
	{"a delete in the big zone ÷ in the small one, p50", "size/delete/ratio", true, 1.10},
	{"view, bytes a record", "memory/view/record", true, 200},
}

// reported have no target yet.
var reported = []target{
	{what: "creates by 16 callers in one zone ÷ plain", name: writeName("create", 16, armOne+" ÷ "+armPlain) + "/rate"},
	{what: "creates by 64 callers in one zone ÷ plain", name: writeName("create", 64, armOne+" ÷ "+armPlain) + "/rate"},
}

func (t target) met(v float64) bool { return t.most && v <= t.bound || !t.most && v >= t.bound }

func (r *Results) print(out io.Writer) {
	h := r.Header
	fmt.Fprintf(out, "%s, %s, %d CPUs, %d rounds, %d s; load average before %s, after %s\n\n", h.Date, h.Go, h.CPUs, h.Rounds, h.Seconds, h.LoadBefore, h.LoadAfter)
	r.printWrites(out)
	r.printReads(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "target\t\tmeasured\t")
	for _, t := range targets {
		v, ok := r.median(t.name)
		if !ok {
			continue
		}
		sign, verdict := "≥", "met"
		if t.most {
			sign = "≤"
		}
		if !t.met(v) {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%s %.4g\t%.4g\t%s\n", t.what, sign, t.bound, v, verdict)
	}
	for _, t := range reported {
		if v, ok := r.median(t.name); ok {
			fmt.Fprintf(w, "%s\t\t%.4g\t\n", t.what, v)
		}
	}
	_ = w.Flush()
	fmt.Fprintln(out)
}

// printWrites prints a line for each operation, number of callers and arm. Ratios are medians of the rounds' ratios, so
// they are not quotients of the medians beside them.
func (r *Results) printWrites(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "write\tcallers\tarm\tper s\t÷ plain\t÷ raw\tp50 ms\t÷ plain\tp99 ms\ttxns\treads\tfsyncs\tWAL B\tmallocs\talloc KB\tserver µs\t÷ plain\tetcd µs\t")
	for _, op := range operations {
		for _, callers := range r.callers() {
			for _, a := range []string{armOne, armSixteen, armPlain, armRaw} {
				at := writeName(op, callers, a)
				if _, ok := r.median(at + "/rate"); !ok {
					continue
				}
				cell := func(name, format string, scale float64) string {
					v, ok := r.median(name)
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
					op, fmt.Sprint(callers), a, of("rate", "%.0f"), over(armPlain, "rate"), over(armRaw, "rate"),
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

// callers are the numbers of callers that were measured, ascending.
func (r *Results) callers() []int {
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

// printReads prints everything about the big zone.
func (r *Results) printReads(out io.Writer) {
	if _, ok := r.median("fill/rate"); !ok {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "a zone of %d records\tmedian\t\n", r.Header.Records)
	for _, s := range r.Series {
		if head, _, _ := strings.Cut(s.Name, "/"); !slices.Contains(operations, head) {
			fmt.Fprintf(w, "%s\t%.4g %s\t\n", s.Name, s.Median(), s.Unit)
		}
	}
	_ = w.Flush()
	fmt.Fprintln(out)
}

// compare prints how the medians moved since the kept run. Where the rounds of both overlap it says so (~): then it is
// no difference. Ratios and counts carry over to another machine, times do not.
func compare(before, after *Results, out io.Writer) {
	fmt.Fprintf(out, "against the kept run of %s (load %s)\n", before.Header.Date, before.Header.LoadBefore)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tkept\tnow\tnow ÷ kept\t")
	moved := 0
	for _, s := range after.Series {
		old := before.index[s.Name]
		if old == nil || overlap(old.Values, s.Values) {
			continue
		}
		moved++
		ratio := "—"
		if m := old.Median(); m != 0 {
			ratio = fmt.Sprintf("%.2f", s.Median()/m)
		}
		fmt.Fprintf(w, "%s\t%.4g %s\t%.4g\t%s\t\n", s.Name, old.Median(), s.Unit, s.Median(), ratio)
	}
	_ = w.Flush()
	fmt.Fprintf(out, "%d of %d figures moved beyond the spread of the rounds\n", moved, len(after.Series))
}

func overlap(a, b []float64) bool {
	return slices.Max(a) >= slices.Min(b) && slices.Max(b) >= slices.Min(a)
}
