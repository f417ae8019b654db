// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"kubi.zone/kubizone/test/bench/figures"
)

// Names of figures. Bulk names get the number of records as a prefix.
const (
	loneKnown     = "lone/known"
	loneConfirmed = "lone/confirmed"
	loneAnswered  = "lone/answered"
	loneLongest   = "lone/longest"
	idleCPU       = "idle/cpu"
	bulkCreated   = "created"
	bulkAnswered  = "answered"
	bulkConfirmed = "confirmed"
	bulkRequests  = "requests"
	bulkCPU       = "cpu"
	bulkAddedCPU  = "added-cpu"
	bulkLive      = "live"
	bulkWAL       = "wal"
	bulkResident  = "resident"
	bulkHighest   = "highest"
)

var bulk = []string{bulkCreated, bulkAnswered, bulkConfirmed, bulkRequests, bulkCPU, bulkAddedCPU, bulkLive, bulkWAL,
	bulkResident, bulkHighest}

type row struct {
	what    string
	figures []string
}

func (p plan) listRows() []row {
	few, many := p.Sizes[0], p.Sizes[len(p.Sizes)-1]
	of := func(n int, figures ...string) (names []string) {
		for _, f := range figures {
			names = append(names, sizedRow(n, f))
		}
		return names
	}
	return []row{
		{"a lone change, ms: you know the outcome", []string{loneKnown}},
		{"the status reports that BIND has it", []string{loneConfirmed}},
		{"BIND answers; longest", []string{loneAnswered, loneLongest}},
		{fmt.Sprintf("%d Records by %d callers, s: created", few, callers), of(few, bulkCreated)},
		{"BIND answers all; the statuses report so", of(few, bulkAnswered, bulkConfirmed)},
		{fmt.Sprintf("%d Records, s: created", many), of(many, bulkCreated)},
		{"BIND answers all; the statuses report so", of(many, bulkAnswered, bulkConfirmed)},
		{"requests at API servers, a Record", of(few, bulkRequests)},
		{"CPU with kube-apiserver and its etcd, ms a Record", of(few, bulkCPU)},
		{"CPU of the added programs, ms a Record; at rest, ms a second", append(of(few, bulkAddedCPU), idleCPU)},
		{"octets in etcd a Record, live; log", of(few, bulkLive, bulkWAL)},
		{fmt.Sprintf("resident, added programs, after %d; %d Records, MB", few, many),
			append(of(few, bulkResident), of(many, bulkResident)...)},
	}
}

type report struct {
	*figures.Results
	plan plan
}

// printReport prints a row for each figure, with ratios to Kubizone in brackets; bold is better.
func (r report) printReport(out io.Writer) {
	r.Header.Print(out)
	head := []string{"measured"}
	for _, s := range systems {
		head = append(head, s.name)
	}
	var rows [][]string
	for _, row := range r.plan.listRows() {
		line := []string{row.what}
		for _, s := range systems {
			var cells []string
			for _, name := range row.figures {
				cells = append(cells, r.formatCell(name, s.name))
			}
			line = append(line, strings.Join(cells, "; "))
		}
		rows = append(rows, line)
	}
	figures.Table(out, head, rows)
}

func (r report) formatCell(row, system string) string {
	v, ok := r.Median(row + "/" + system)
	if !ok {
		return "–"
	}
	cell := formatFigure(v)
	ratio, ok := r.Median(row + "/" + system + " ÷ " + kubizone)
	switch {
	case !ok:
		return cell
	case v == 0:
		return "**0**"
	case ratio < 1:
		return fmt.Sprintf("**%s (%s)**", cell, formatFigure(ratio))
	}
	return fmt.Sprintf("%s (%s)", cell, formatFigure(ratio))
}

func formatFigure(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
