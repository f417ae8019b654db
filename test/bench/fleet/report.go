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

// report is how a run is printed: Markdown, for docs/performance.md.
type report struct{ *figures.Results }

func (r report) print(out io.Writer) {
	r.Header.Print(out)
	var rows [][]string
	sorted := slices.Clone(r.Series)
	slices.SortStableFunc(sorted, func(a, b *figures.Series) int { return strings.Compare(a.Name, b.Name) })
	for _, one := range sorted {
		rows = append(rows, []string{one.Name, fmt.Sprintf("%.4g %s", one.Median(), one.Unit)})
	}
	figures.Table(out, []string{"figure", "measured"}, rows)
}
