// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"kubi.zone/kubizone/test/bench/figures"
)

// Rows of the report. Those of bulk follow the number of records.
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

var loneRows = [][2]string{
	{loneKnown, "a lone change: the user knows the outcome, p50, ms"},
	{loneConfirmed, "the status reports that BIND has it, p50, ms"},
	{loneAnswered, "BIND answers, p50, ms"},
	{loneLongest, "BIND answers, longest, ms"},
	{idleCPU, "CPU of what you add, at rest, ms a second"},
}

var bulkRows = [][2]string{
	{bulkCreated, "%d Records by 8 callers: created, s"},
	{bulkAnswered, "%d: BIND answers all, s"},
	{bulkConfirmed, "%d: the statuses report that BIND has all, s"},
	{bulkRequests, "%d: requests at API servers, a Record"},
	{bulkCPU, "%d: CPU with kube-apiserver and its etcd, ms a Record"},
	{bulkAddedCPU, "%d: CPU of what you add, ms a Record"},
	{bulkLive, "%d: octets in etcd, live, a Record"},
	{bulkWAL, "%d: octets in etcd's log, a Record"},
	{bulkResident, "%d: resident, of what you add, MB"},
}

type report struct {
	*figures.Results
	plan plan
}

// printReport prints a row of each figure. In brackets are ratios to Kubizone; a peer's better figure is bold.
func (r report) printReport(out io.Writer) {
	r.Header.Print(out)
	head := []string{"bold: better than " + kubizone}
	for _, s := range systems {
		head = append(head, s.name)
	}
	var rows [][]string
	add := func(name, what string) {
		row := []string{what}
		for _, s := range systems {
			row = append(row, r.formatCell(name, s.name))
		}
		rows = append(rows, row)
	}
	for _, row := range loneRows {
		add(row[0], row[1])
	}
	for _, n := range r.plan.Sizes {
		for _, row := range bulkRows {
			add(sizedRow(n, row[0]), fmt.Sprintf(row[1], n))
		}
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
