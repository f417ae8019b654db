// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// maxShown limits the lines of a kind for a file, because a wrong format makes every line wrong.
const maxShown = 20

type reports struct {
	mutex  sync.Mutex
	counts map[string]int
}

func (p *reports) shouldShow(kind, path string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.counts == nil {
		p.counts = make(map[string]int)
	}
	key := kind + ": " + path
	p.counts[key]++
	return p.counts[key] <= maxShown
}

func (p *reports) takeHidden() (lines []string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, key := range slices.Sorted(maps.Keys(p.counts)) {
		if more := p.counts[key] - maxShown; more > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d more; mend those above and try again", key, more))
		}
	}
	p.counts = nil
	return lines
}

func (r Result) String() string {
	parts := []string{fmt.Sprintf("%d written, %d unchanged", r.Written, r.Present)}
	parts = append(parts, counted(r.Removed, "removed", "removed")...)
	parts = append(parts, counted(r.Undecided, "decided later", "decided later")...)
	parts = append(parts, counted(r.NotTaken, "not taken over", "not taken over")...)
	if incomplete := r.Incomplete(); incomplete != "" {
		parts = append(parts, incomplete)
	}
	return strings.Join(parts, ", ")
}

// Incomplete lists the counts that need a correction, or "".
func (r Result) Incomplete() string {
	return strings.Join(slices.Concat(
		counted(r.Left, "left to others", "left to others"),
		counted(r.Refused, "refused", "refused"),
		counted(r.Failed, "source incomplete", "sources incomplete"),
		counted(r.Changed, "entry missing or changed", "entries missing or changed"),
		counted(r.NotServable, "zone not servable", "zones not servable"),
		counted(r.Held, "zone held", "zones held"),
	), ", ")
}

func counted(n int, one, more string) []string {
	switch n {
	case 0:
		return nil
	case 1:
		return []string{"1 " + one}
	}
	return []string{fmt.Sprintf("%d %s", n, more)}
}

func (l *Loader) reportRefused(r Refusal) { l.reportGrouped("refused", r) }

// Report reports a custom resource that was refused or, if refused is false, imported only in part.
func (l *Loader) Report(r Refusal, refused bool) Result {
	if refused {
		l.reportRefused(r)
		return Result{Refused: 1}
	}
	l.reportGrouped("not taken over", r)
	return Result{NotTaken: 1}
}

func (l *Loader) reportPlan(p *plan) {
	for _, r := range p.notes {
		l.reportGrouped("warning", r)
	}
	for _, r := range p.refusals {
		l.reportRefused(r)
	}
}

func (l *Loader) reportLeftAsIs(r Refusal) { l.reportGrouped("left as it is", r) }

func (l *Loader) reportGrouped(verb string, r Refusal) {
	if l.reports.shouldShow(verb, r.Path) {
		l.note(verb, r.String())
	}
}

func (l *Loader) reportHidden() {
	for _, line := range l.reports.takeHidden() {
		l.printf("%s", line)
	}
	all, more := l.warnings.takeAll()
	for _, one := range all {
		kind := "warning"
		if one.reason == v1alpha1.WarningTakesAway {
			kind = "releases"
		}
		l.note(kind, one.text)
	}
	if more > 0 {
		l.note("warning", fmt.Sprintf("%d more are not shown; of manifests, kubectl kubizone lint lists all, and of a zone, "+
			"kubectl kubizone export ZONE -o yaml | kubectl kubizone lint -", more))
	}
}

func (l *Loader) note(kind, text string) {
	if l.cfg.Note == nil {
		l.printf("%s: %s", kind, text)
		return
	}
	l.report.Lock()
	defer l.report.Unlock()
	l.cfg.Note(kind, text)
}

func (l *Loader) reportServable(id types.NamespacedName, zone *v1alpha1.Zone) (reported bool) {
	c := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionServable)
	if c == nil || c.Status != metav1.ConditionFalse {
		return false
	}
	l.printf("zone %s (%s) is not servable: %s: %s", zone.Status.FQDN, id, c.Reason, c.Message)
	return true
}
