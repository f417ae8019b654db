// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package figures

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

type Target struct {
	What, Name string
	Most       bool // an upper bound
	Bound      float64
}

func (t Target) Met(v float64) bool { return t.Most && v <= t.Bound || !t.Most && v >= t.Bound }

// Targets prints the targets, and the reported series without one.
func (r *Results) Targets(out io.Writer, targets, reported []Target) {
	var rows [][]string
	for _, t := range targets {
		v, ok := r.Median(t.Name)
		if !ok {
			continue
		}
		sign, verdict := "≥", "met"
		if t.Most {
			sign = "≤"
		}
		if !t.Met(v) {
			verdict = "MISSED"
		}
		rows = append(rows, []string{t.What, fmt.Sprintf("%s %.4g", sign, t.Bound), fmt.Sprintf("%.4g", v), verdict})
	}
	for _, t := range reported {
		if v, ok := r.Median(t.Name); ok {
			rows = append(rows, []string{t.What, "", fmt.Sprintf("%.4g", v), "no target yet"})
		}
	}
	Table(out, []string{"target", "", "measured", ""}, rows)
}

func Table(out io.Writer, head []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	fmt.Fprintln(out, strings.Repeat("|---", len(head))+"|")
	for _, row := range rows {
		line(row)
	}
	fmt.Fprintln(out)
}

func (h Header) Print(out io.Writer) {
	fmt.Fprintf(out, "%s, %s, %d CPUs, %d rounds, %d s; load average before %s, after %s\n\n", h.Date, h.Go, h.CPUs, h.Rounds, h.Seconds, h.LoadBefore, h.LoadAfter)
}

// A ~ means overlapping rounds: no difference. Another machine keeps ratios and counts, not times.
func compareRuns(before, after *Results, out io.Writer) {
	fmt.Fprintf(out, "against the kept run of %s (load %s)\n", before.Header.Date, before.Header.LoadBefore)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tkept\tnow\tnow ÷ kept\t")
	moved := 0
	for _, s := range after.Series {
		old := before.index[s.Name]
		if old == nil || rangesOverlap(old.Values, s.Values) {
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

func rangesOverlap(a, b []float64) bool {
	return slices.Max(a) >= slices.Min(b) && slices.Max(b) >= slices.Min(a)
}
