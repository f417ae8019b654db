// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/history"
)

const (
	maxSteps   = 100
	maxLines   = 40
	maxRecords = 3
	// maxCompared bounds the steps between two serials, and maxValues the values of a page's steps.
	maxCompared = 5000
	maxValues   = 50_000
)

type historyPart struct {
	From, To   int64
	Compared   bool
	Difference []diffLine
	Steps      []*step
	Older      bool
	// Anonymous is true if the user may not read users and Records of other namespaces' steps.
	Anonymous bool
	Problem   string
	Lack      *lack
}

type step struct {
	history.Author
	At *metav1.Time
	// Written are the first of the Records, More is the number of others.
	Written []v1alpha1.HistoryRecord
	More    int
	Lines   []diffLine
	// Compare is the query of a comparison of the serial before with the newest, "" for the first serial.
	Compare string
}

func readHistory(ctx context.Context, r *reading, zone *v1alpha1.Zone, asked url.Values) *historyPart {
	part := &historyPart{}
	from, to := asked.Get("from"), asked.Get("to")
	part.From, _ = strconv.ParseInt(from, 10, 64)
	part.To, _ = strconv.ParseInt(to, 10, 64)
	if zone.Status.Serial == 0 {
		return part
	}
	if from != "" || to != "" {
		part.compareSerials(ctx, r, zone)
	}
	past, full, err := r.readPast(ctx, zone, maxSteps, nil)
	if err != nil {
		part.Lack = lackOf(err, "get", "zones/changes", zone.Namespace)
		return part
	}
	part.Anonymous, part.Older = past.Masked, full
	for i := range past.Steps {
		x := &past.Steps[i]
		one := &step{Author: history.AuthorOf(x), At: x.Time, Lines: linesOf(x, len(x.Records) > 0 || x.AnotherNamespace)}
		one.More = max(0, len(x.Records)-maxRecords)
		one.Written = x.Records[:len(x.Records)-one.More]
		if x.From > 0 {
			one.Compare = "?" + url.Values{"from": {fmt.Sprint(x.From)}, "to": {fmt.Sprint(past.Newest)}}.Encode()
		}
		part.Steps = append(part.Steps, one)
	}
	return part
}

func (h *historyPart) compareSerials(ctx context.Context, r *reading, zone *v1alpha1.Zone) {
	if h.From <= 0 || h.To <= 0 || h.From > 1<<32-1 || h.To > 1<<32-1 {
		h.Problem = "compare two serials: each is a number from 1 to 4294967295"
		return
	}
	if serial.Serial(h.From).Ahead(serial.Serial(h.To)) {
		h.From, h.To = h.To, h.From
	}
	from, to := history.Moment{Serial: serial.Serial(h.From)}, history.Moment{Serial: serial.Serial(h.To)}
	past, full, err := r.readPast(ctx, zone, maxCompared, &from)
	var steps, newer []v1alpha1.HistoryStep
	switch {
	case apierrors.IsForbidden(err):
		h.Lack = lackOf(err, "get", "zones/changes", zone.Namespace)
		return
	case err == nil && full:
		err = fmt.Errorf("there are more than %d changes or %d values since serial %d: %s compares them", maxCompared, maxValues, h.From,
			command("kubectl", "kubizone", "diff", zone.Namespace+"/"+zone.Name, fmt.Sprint(h.From), fmt.Sprint(h.To)))
	case err == nil:
		steps, err = past.Since(from)
		if err == nil {
			newer, err = past.Since(to)
		}
	}
	if err != nil {
		h.Problem = err.Error()
		return
	}
	sum := history.Sum(steps[len(newer):])
	h.Compared, h.Difference = true, linesOf(&sum, true)
}

// readPast reads steps, the newest first, to the moment. full is true if further ones are beyond most, or beyond
// maxValues.
func (r *reading) readPast(ctx context.Context, zone *v1alpha1.Zone, most int, to *history.Moment) (past *history.Past, full bool,
	err error) {
	reader := &history.Reader{Client: r.api, Page: maxSteps}
	steps, values := 0, 0
	past, err = reader.Read(ctx, history.Subject{Zone: zone, Namespace: cmp.Or(r.own, zone.Namespace)}, func(x *v1alpha1.HistoryStep) bool {
		if to != nil && !to.IsBefore(x) {
			return true
		}
		steps++
		values += len(x.Removed) + len(x.Added)
		full = steps > most || values > maxValues
		return full
	})
	if full && steps > 1 && err == nil {
		past.Steps = past.Steps[:steps-1]
	}
	return past, full, err
}

// linesOf returns the first lines of a step. Names are links if Records have them: why follows no data that a zone
// derives, such as glue.
func linesOf(x *v1alpha1.HistoryStep, ofRecords bool) (lines []diffLine) {
	values := 0
	if ofRecords {
		values = len(x.Removed) + len(x.Added)
	}
	of := history.Lines(x)
	for i, line := range of[:min(len(of), maxLines)] {
		one := diffLine{Kind: cmp.Or(map[byte]string{'-': "minus", '+': "plus"}[line[0]], "tilde"), Text: line}
		if name, rest, _ := strings.Cut(line[2:], " "); i < values && strings.HasSuffix(name, ".") {
			one.Sign, one.Name, one.Text = line[:2], name, " "+rest
		}
		lines = append(lines, one)
	}
	if more := len(of) - maxLines; more > 0 {
		lines = append(lines, diffLine{Kind: "tilde", Text: fmt.Sprintf("and %d more", more)})
	}
	return lines
}
