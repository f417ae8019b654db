// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

const (
	maxSteps   = 100
	maxLines   = 40
	maxRecords = 3
	// Limits of the steps that a page reads, and of their values.
	maxCompared = 5000
	maxValues   = 50_000
)

type historyPart struct {
	From, To   int64
	Name, By   string
	Compared   bool
	Difference []diffLine
	Revert     string
	Steps      []*step
	Older      bool
	// Anonymous is true if steps of other namespaces lack users and Records, because the user may not read them.
	Anonymous bool
	Problem   string
	Lack      *lack

	at string // Name as an absolute domain name, or ""
}

type step struct {
	history.Author
	At      *metav1.Time
	Written []v1alpha1.HistoryRecord
	More    int
	Lines   []diffLine
	// Compare is the URL query that compares the serial before the step with the newest, and Revert the command that
	// restores the serial before. Both are "" for the first serial.
	Compare, Revert string
}

// readHistory reads the newest steps of a zone, of a name and user if the query has them, and compares two serials if
// the query has "from" or "to". An invalid name is the Problem of the part.
func readHistory(ctx context.Context, r *reading, zone *v1alpha1.Zone, asked url.Values) *historyPart {
	part := &historyPart{Name: strings.TrimSpace(asked.Get("name")), By: strings.TrimSpace(asked.Get("by"))}
	from, to := asked.Get("from"), asked.Get("to")
	part.From, _ = strconv.ParseInt(from, 10, 64)
	part.To, _ = strconv.ParseInt(to, 10, 64)
	// The zone was never served, so there is no serial to compare with.
	if zone.Status.Serial == 0 {
		return part
	}
	if from != "" || to != "" {
		part.compareSerials(ctx, r, zone)
	}
	at, err := nameIn(part.Name, zone)
	if err != nil {
		part.Problem = err.Error()
		return part
	}
	part.at = at.String()
	// The reader has no filter by user or name, so each step is judged here.
	takes := func(x *v1alpha1.HistoryStep) bool { return history.IsBy(x, part.By) && history.Touches(x, at) }
	past, full, err := r.readPast(ctx, zone, maxSteps, nil, takes)
	if err != nil {
		part.Lack = lackOf(err, "get", "zones/changes", zone.Namespace)
		return part
	}
	part.Anonymous, part.Older = past.Masked, full
	for i := range past.Steps {
		// A step of a hundred names shows the lines of the asked name alone.
		x := new(history.AtName(&past.Steps[i], at))
		one := &step{Author: history.AuthorOf(x), At: x.Time, Lines: linesOf(x)}
		// A change set may name a hundred Records. The page shows three, and the number of the others.
		one.More = max(0, len(x.Records)-maxRecords)
		one.Written = x.Records[:len(x.Records)-one.More]
		one.More += int(x.OtherRecords)
		// The first step of a zone has no serial before, so neither a comparison nor a revert.
		if x.From > 0 {
			one.Compare = "?" + url.Values{"from": {fmt.Sprint(x.From)}, "to": {fmt.Sprint(past.Newest)}}.Encode()
			one.Revert = revertCommand(zone, x.From)
		}
		part.Steps = append(part.Steps, one)
	}
	return part
}

// nameIn parses a name, absolute if within the zone, otherwise relative to the apex. In zone example.org, "www" and
// "www.example.org" are the same name. An empty text is the zero name.
func nameIn(text string, zone *v1alpha1.Zone) (parsed name.Name, err error) {
	if text == "" {
		return parsed, nil
	}
	apex, err := name.Parse(zone.Status.FQDN)
	if err != nil {
		return parsed, err
	}
	if parsed, err = name.ParseIn(strings.TrimSuffix(text, ".")+".", apex); err == nil && apex.Encloses(parsed) {
		return parsed, nil
	}
	return name.ParseIn(text, apex)
}

func revertCommand(zone *v1alpha1.Zone, to int64) string {
	return command("kubectl", "kubizone", "revert", zone.Namespace+"/"+zone.Name, "--to", fmt.Sprint(to))
}

func (h *historyPart) commands(zone string) []string {
	words := []string{"kubectl", "kubizone", "log", cmp.Or(h.at, zone)}
	if h.By != "" {
		words = append(words, "--by", h.By)
	}
	return []string{command(append(words, "--follow")...)}
}

// compareSerials sets Difference to the net change between the serials From and To, and Revert to the command that
// restores From. A Problem or Lack is set instead if the steps cannot be read.
func (h *historyPart) compareSerials(ctx context.Context, r *reading, zone *v1alpha1.Zone) {
	if h.From <= 0 || h.To <= 0 || h.From > 1<<32-1 || h.To > 1<<32-1 {
		h.Problem = "compare two serials: each is a number from 1 to 4294967295"
		return
	}
	// Serials wrap (RFC 1982), so the smaller number may be the newer serial.
	if serial.Serial(h.From).Ahead(serial.Serial(h.To)) {
		h.From, h.To = h.To, h.From
	}
	from, to := history.Moment{Serial: serial.Serial(h.From)}, history.Moment{Serial: serial.Serial(h.To)}
	// Read from the newest step down to From. To is among the steps.
	past, full, err := r.readPast(ctx, zone, maxCompared, &from, nil)
	var steps, newer []v1alpha1.HistoryStep
	switch {
	case apierrors.IsForbidden(err):
		h.Lack = lackOf(err, "get", "zones/changes", zone.Namespace)
		return
	case err == nil && full:
		err = fmt.Errorf("there are more than %d changes or %d values since serial %d: %s compares them", maxCompared, maxValues, h.From,
			command("kubectl", "kubizone", "diff", zone.Namespace+"/"+zone.Name, fmt.Sprint(h.From), fmt.Sprint(h.To)))
	case err == nil:
		// The steps after From, without those after To, are the steps between the two.
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
	h.Compared, h.Difference, h.Revert = true, linesOf(&sum), revertCommand(zone, h.From)
	// A value that the history has lost makes the difference incomplete, so a line names the loss.
	for _, loss := range past.Losses(len(steps), name.Name{}) {
		h.Difference = append(h.Difference, diffLine{Kind: "tilde", Text: "; " + loss.String()})
	}
}

// readPast reads the newest steps of a zone that takes accepts, nil for all, down to the moment to, nil for the oldest.
// full is true if steps are left out, because of most or of the limits of a page.
func (r *reading) readPast(ctx context.Context, zone *v1alpha1.Zone, most int, to *history.Moment,
	takes func(*v1alpha1.HistoryStep) bool) (past *history.Past, full bool, err error) {
	reader := &history.Reader{Client: r.api, Page: maxSteps}
	steps, taken, values := 0, 0, 0
	past, err = reader.Read(ctx, history.Subject{Zone: zone, Namespace: cmp.Or(r.own, zone.Namespace)}, func(x *v1alpha1.HistoryStep) bool {
		if to != nil && !to.IsBefore(x) {
			// This step and the older steps led to the serial to compare with.
			return true
		}
		steps++
		if takes == nil || takes(x) {
			taken++
		}
		values += len(x.Removed) + len(x.Added)
		full = taken > most || steps > maxCompared || values > maxValues
		return full
	})
	if err != nil {
		return past, full, err
	}
	if full && steps > 1 {
		// The last read step has exceeded the limit.
		past.Steps = past.Steps[:steps-1]
	}
	if takes != nil {
		// The reader keeps each step that it passes, so the steps of other users and names go now.
		past.Steps = slices.DeleteFunc(past.Steps, func(x v1alpha1.HistoryStep) bool { return !takes(&x) })
	}
	if len(past.Steps) > most { // some users are known only after Read
		past.Steps, full = past.Steps[:most], true
	}
	return past, full, nil
}

// linesOf returns the first lines of a step's difference, for the page. Lines of values begin with a DNS name, and the
// page links that name.
func linesOf(x *v1alpha1.HistoryStep) (lines []diffLine) {
	values := len(x.Removed) + len(x.Added)
	of := history.Lines(x)
	for i, line := range of[:min(len(of), maxLines)] {
		one := diffLine{Kind: cmp.Or(map[byte]string{'-': "minus", '+': "plus"}[line[0]], "tilde"), Text: line}
		// Lines of fields and notes come after the values, and have no name to link: "~ ttl 300 instead of 600".
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
