// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

const maxLossNames = 20

// Loss describes missing steps of a zone's past, or steps without their values. They hide the changed names, and
// nothing else.
type Loss struct {
	// Since is the serial before the oldest of the steps, Serial the serial after the newest.
	Since  int64 `json:"since"`
	Serial int64 `json:"serial"`
	// By is a namespace, or "another namespace".
	By string `json:"by"`
	// Names are the first of the changed RRsets, as "FQDN TYPE", and More counts the others. Both are absent for
	// missing steps, whose names are unknown.
	Names []string `json:"names,omitempty"`
	More  int      `json:"more,omitempty"`
}

func (l *Loss) String() string { return l.reason("changes by "+l.By) + l.hidden(": ", "") }

func (l *Loss) reason(changes string) string {
	if len(l.Names) == 0 {
		return fmt.Sprintf("%s between serials %d and %d are missing", changes, l.Since, l.Serial)
	}
	return fmt.Sprintf("values before %s from serial %d to %d are no longer kept", changes, l.Since, l.Serial)
}

func (l *Loss) hidden(prefix, unknown string) string {
	switch {
	case len(l.Names) == 0:
		return unknown
	case l.More > 0:
		return fmt.Sprintf("%s%s and %d more", prefix, strings.Join(l.Names, ", "), l.More)
	}
	return prefix + strings.Join(l.Names, ", ")
}

// isMissingAfter reports whether steps are missing between step i and the next older step. The first step of a zone's
// life has number 1, also if the zone had an earlier life.
func (p *Past) isMissingAfter(i int) bool {
	if p.ownOnly || i+1 >= len(p.Steps) {
		return false
	}
	newer, older := p.Steps[i].ContentGeneration, p.Steps[i+1].ContentGeneration
	return newer != 1 && newer != older+1
}

// MayLackSince reports whether steps after a time are missing at the end of the history.
func (p *Past) MayLackSince(m Moment) bool {
	return !m.IsZero() && m.Serial == 0 && p.Ended && m.Time.Before(p.WholeSince)
}

// Losses returns the losses among the newest steps, n of them, and right before. They concern a name, zero for any.
func (p *Past) Losses(n int, at name.Name) (all []Loss) {
	of := map[string]*Loss{}
	names := map[string][]string{}
	var order []string
	add := func(by string, since, serial int64) *Loss {
		if of[by] == nil {
			of[by] = &Loss{Serial: serial}
			order = append(order, by)
		}
		of[by].Since = since
		return of[by]
	}
	const missing = ""
	for i := range p.Steps[:n] {
		x := &p.Steps[i]
		if x.Condensed && Touches(x, at) {
			by := namespaceOf(x)
			add(by, x.From, x.Serial)
			names[by] = append(names[by], hiddenNames(x, at)...)
		}
		if p.isMissingAfter(i) {
			add(missing, p.Steps[i+1].Serial, x.From)
		}
	}

	for _, by := range order {
		l := of[by]
		if l.By = by; by == missing {
			l.By = "other namespaces"
		}
		hidden := slices.Compact(slices.Sorted(slices.Values(names[by])))
		l.Names = hidden[:min(len(hidden), maxLossNames)]
		l.More = len(hidden) - len(l.Names)
		all = append(all, *l)
	}
	return all
}

func namespaceOf(x *v1alpha1.HistoryStep) string {
	switch {
	case len(x.Records) > 0:
		return "namespace " + x.Records[0].Namespace
	case x.AnotherNamespace:
		return "another namespace"
	}
	by := AuthorOf(x)
	return by.User()
}

func hiddenNames(x *v1alpha1.HistoryStep, at name.Name) (names []string) {
	for _, c := range x.TTLs {
		if fqdn := ownerOf(c.Owner, x.FQDN); at.IsZero() || fqdn == at.String() {
			names = append(names, fqdn+" "+c.Type)
		}
	}
	if len(x.TTLs) == 0 {
		names = append(names, "the Zone's spec")
	}
	return names
}

// mayLack reports whether steps of a namespace may be missing before a step, among the n newest: then the state before
// the step need not be the state before them all.
func (p *Past) mayLack(namespace string, step *v1alpha1.HistoryStep, n int) bool {
	if namespace == p.Own {
		return false // Since has refused it
	}
	for i := n - 1; i >= 0; i-- {
		if p.isMissingAfter(i) {
			return true
		}
		if !isNewer(&p.Steps[i], step) && !isNewer(step, &p.Steps[i]) { // the step
			return false
		}
	}
	return false
}
