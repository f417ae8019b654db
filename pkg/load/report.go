// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	// maxAlike bounds the lines shown of a reason in a file, maxKinds the reasons: a wrong format makes every line
	// wrong.
	maxAlike = 5
	maxKinds = 20
)

type similarLines struct {
	verb  string
	first Refusal
	count int
}

type reports struct {
	mutex       sync.Mutex
	kinds       map[string]*similarLines
	order       []string
	hiddenKinds int
}

var particular = regexp.MustCompile(`"[^"]*"|\S*[./0-9\\]\S*`)

func (p *reports) shouldShow(verb string, r Refusal) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.kinds == nil {
		p.kinds = make(map[string]*similarLines)
	}
	key := verb + " " + r.Path + " " + particular.ReplaceAllString(r.Reason, "…")
	kind := p.kinds[key]
	if kind == nil {
		if len(p.kinds) == maxKinds {
			p.hiddenKinds++
			return false
		}
		kind = &similarLines{verb: verb, first: r}
		p.kinds[key], p.order = kind, append(p.order, key)
	}
	kind.count++
	return kind.count <= maxAlike
}

func (p *reports) takeHidden() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var lines []string
	for _, key := range p.order {
		if kind := p.kinds[key]; kind.count > maxAlike {
			lines = append(lines, fmt.Sprintf("%s: %d more like %s", kind.verb, kind.count-maxAlike, kind.first))
		}
	}
	if p.hiddenKinds > 0 {
		lines = append(lines, fmt.Sprintf("and %d more for other reasons; mend those above and try again", p.hiddenKinds))
	}
	p.kinds, p.order, p.hiddenKinds = nil, nil, 0
	return lines
}

func (r Result) String() string {
	parts := []string{fmt.Sprintf("%d written, %d unchanged", r.Written, r.Present)}
	parts = append(parts, counted(r.Removed, "removed", "removed")...)
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

// Report reports and counts a custom resource not imported, or only in part if refused is false.
func (l *Loader) Report(r Refusal, refused bool) Result {
	if refused {
		l.reportRefused(r)
		return Result{Refused: 1}
	}
	l.reportGrouped("not taken over", r)
	return Result{NotTaken: 1}
}

func (l *Loader) reportPlan(p *plan) {
	for _, r := range p.refusals {
		l.reportRefused(r)
	}
}

func (l *Loader) reportLeftAsIs(r Refusal) { l.reportGrouped("left as it is", r) }

func (l *Loader) reportGrouped(verb string, r Refusal) {
	if l.reports.shouldShow(verb, r) {
		l.note(verb, r.String())
	}
}

func (l *Loader) reportHidden() {
	for _, line := range l.reports.takeHidden() {
		l.printf("%s", line)
	}
	texts, reasons, more := l.warnings.takeAll()
	for _, text := range texts {
		kind := "warning"
		if reasons[text] == v1alpha1.WarningTakesAway {
			kind = "releases"
		}
		l.note(kind, text)
	}
	if more > 0 {
		l.note("warning", fmt.Sprintf("%d more warnings are not shown", more))
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
