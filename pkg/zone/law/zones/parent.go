// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

type ParentInput struct {
	Zone *law.Zone
	Spec *ZoneSpec
	// Message is from the present condition Delegated.
	Message string
	Work    *law.Work
	Now     time.Time
	WorkID  string
}

// DecideParent decides the parent of a zone after a change above it. Plan.Zone is nil if nothing changes. The only
// refusal is Later, if too many other zones end at once.
func DecideParent(seen *law.Facts, ask ParentInput) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		d := &zoneDecision{Reading: r, ask: ZoneInput{Before: ask.Zone, After: ask.Spec, Cascade: true, Now: ask.Now, WorkID: ask.WorkID}}
		return d.decideParent(&ask)
	})
}

// decideParent decides the parent of a zone again. If the zone above no longer delegates the zone, the period begins or
// goes on, and the zone ends after the period (S3.5).
func (d *zoneDecision) decideParent(ask *ParentInput) (*law.Plan, *law.Refusal) {
	z, work, plan := ask.Zone, ask.Work, &law.Plan{}
	holding := law.Get[law.Holding](d.Reading, law.HoldingKey(z.View, z.FQDN()))
	if holding == nil || holding.UID != z.UID {
		return plan, nil // the removal has a cascade of its own
	}

	// 1. Find the zone above, and judge its rules.
	x := parentOf(d.Reading, z.View, z.FQDN(), z.Namespace, holding)
	if !x.withdrawn {
		return d.storeParent(ask, plan, holding, x, 0)
	}

	// 2. Begin the period, or go on. If dev.example.org, which delegated q.dev.example.org, is gone, the cascade of its
	// removal decides, since the period is 24 hours then, whatever example.org's (S3.5).
	ofRemoval := work.Purge != ""
	if !ofRemoval && d.isGone(holding.Parent) {
		return plan, nil
	}
	w, release := d.updatePeriod(ask, plan, holding, x, ofRemoval)

	// 3. End the zone. With a zone that ends, the zones below without a rule end at once (S3.8).
	if release || work.Ends {
		return d.endZone(&law.Plan{}, holding, x.parent, countsEnd(work, w, z.Namespace))
	}
	return d.storeParent(ask, plan, holding, x, w.EndsAt())
}

func (d *zoneDecision) isGone(parent *law.Ref) bool {
	if parent == nil {
		return false
	}
	z, _ := d.ZoneAt(law.Place{Ref: *parent})
	return z == nil
}

// updatePeriod begins or continues the period of a zone without a rule of the zone above.
func (d *zoneDecision) updatePeriod(ask *ParentInput, plan *law.Plan, holding *law.Holding, x *parentage, ofRemoval bool) (
	w *law.Withdrawal, release bool) {
	grace := x.parent.Grace
	if ofRemoval {
		grace = records.DefaultGrace
	}
	newly := holding.Withdrawn != x.parent.UID
	return records.UpdateWithdrawal(d.Reading, plan, records.Withdrawn{Zone: x.parent, Namespace: ask.Zone.Namespace,
		Child: true, Begins: newly,
		// If this parent delegated the zone until now, its namespace withdrew the zone, whichever cascade is first.
		ByOwner: newly && holding.CountedBy(x.parent),
		Grace:   grace, Cause: ask.Work.Cause(), Now: ask.Now})
}

// countsEnd reports whether the parent's loss of the NS counts towards a mass deletion (S7.7): the zone ended by a rule
// alone, and neither after a period, nor by release-now, nor with the zone above.
func countsEnd(work *law.Work, w *law.Withdrawal, namespace string) bool {
	return !work.Ends && !slices.Contains(work.Releases, namespace) && !w.Uncounted()
}

// storeParent plans the changes of a zone that stays: its parent and condition, and the cuts. endsAt is 0 unless its
// period runs.
func (d *zoneDecision) storeParent(ask *ParentInput, plan *law.Plan, holding *law.Holding, x *parentage, endsAt int64) (
	*law.Plan, *law.Refusal) {
	// 1. Compare with the stored parent.
	z, h := ask.Zone, *holding
	appendRenamed(d.Reading, x.cond, ask.Spec, z)
	x.noteIn(&h)
	if reflect.DeepEqual(h.Ancestry, holding.Ancestry) {
		if ask.Message != x.cond.Message {
			plan.Zone = &law.ZoneChange{Zone: z, Holding: holding, Delegated: x.cond}
		}
		return plan, nil
	}

	// 2. The former parent drops NS and glue. The new parent lists them, or this parent lists the DS or drops them.
	moved := !reflect.DeepEqual(h.Parent, holding.Parent)
	if moved {
		plan.AddPendingCut(holding.Parent, z.Ref, z.View, z.FQDN())
	}
	if moved || h.DS != holding.DS {
		plan.AddPendingCut(h.Parent, z.Ref, z.View, z.FQDN())
	}

	plan.Zone = &law.ZoneChange{Zone: z, Holding: &h, Delegated: x.cond, EndsAt: endsAt}
	plan.Writes = append(plan.Writes, law.Write{Key: law.HoldingKey(z.View, z.FQDN()), Value: &h})
	return plan, nil
}

type parentage struct {
	parent    *law.Zone // nil for a standalone zone
	delegates bool
	ds        bool
	withdrawn bool
	enclosed  string
	cond      *law.Condition
}

func (x *parentage) noteIn(h *law.Holding) {
	h.Parent, h.Withdrawn, h.Enclosed, h.DS = nil, "", x.enclosed, x.ds
	if x.delegates || x.withdrawn {
		h.Parent = &x.parent.Ref
	}
	if x.withdrawn {
		h.Withdrawn = x.parent.UID
	}
}

// parentOf returns the zone's relation to the nearest zone above, and the condition Delegated. has is the present
// state.
func parentOf(r *law.Reading, view string, fqdn name.Name, ns string, has *law.Holding) *parentage {
	standalone := &parentage{cond: &law.Condition{Status: "True", Reason: law.ReasonStandalone, Message: "no zone encloses it"}}
	up, ok := fqdn.Parent()
	if !ok {
		return standalone
	}
	_, above := r.FindEnclosing(view, up)
	if above == nil {
		return standalone
	}

	p := r.ZoneOf(above)
	given := r.WithRulesFor(p, ns)
	owner, _ := fqdn.Rel(p.FQDN())
	set := given.RuleSet()
	// Below pay, reserved for another namespace, "*" delegates no zone (S4.20).
	set = set.WithMinTail(parentClaimant(r, given, above, ns).FindReservedBar(rules.Base(owner)).MinTail)
	x := &parentage{parent: p, delegates: set.DelegatesZone(fqdn, ns), ds: set.DelegatesDS(fqdn, ns), enclosed: p.UID}
	hint := fmt.Sprintf("its owner can add a delegation with zones: [%q]", owner)

	// An established zone never ends (S3.4, S3.5).
	if !x.delegates && has.Established {
		x.cond = &law.Condition{Status: "False", Reason: law.ReasonNotDelegated, Message: fmt.Sprintf("zone %s encloses it and does not "+
			"delegate it (%s)", p.FQDN(), hint)}
		return x
	}

	if !x.delegates {
		x.withdrawn = true
		x.ds = has.DS && has.CountedBy(p) // DS stay until the zone ends
		x.cond = &law.Condition{Status: "True", Reason: law.ReasonDelegationWithdrawn, Message: fmt.Sprintf("zone %s no longer "+
			"delegates it: it is served until about status.endsAt, and ends then (S3.5; %s)", p.FQDN(), hint)}
		return x
	}

	x.cond = &law.Condition{Status: "True", Reason: law.ReasonDelegated, Message: fmt.Sprintf("by zone %s", p.FQDN())}
	return x
}

// appendRenamed adds a sentence to cond if zoneRef's zone has another name or view than when this zone was made. A zone
// keeps its name (S1.6), and the sentence has the commands to recreate it.
func appendRenamed(r *law.Reading, cond *law.Condition, spec *ZoneSpec, z *law.Zone) {
	if spec.ZoneRef == nil || name.IsAbsolute(spec.DomainName) {
		return
	}
	target := law.Get[law.Zone](r, law.ZoneKey(spec.ZoneRef.Namespace, spec.ZoneRef.Name))
	if target == nil || target.Pending || !r.ZoneVisibleTo(target, z.Namespace) {
		return
	}

	would, err := name.ParseIn(spec.DomainName, target.FQDN())
	if err != nil || would == z.FQDN() && target.View == z.View {
		return
	}
	given := r.WithRulesFor(target, z.Namespace)
	var first string
	if rel, ok := would.Rel(target.FQDN()); ok && !given.RuleSet().DelegatesZone(would, z.Namespace) {
		first = fmt.Sprintf("the owner of zone %s adds a delegation with zones: [%q]; then ", target.FQDN(), rel)
	}

	// A reason such as DelegationWithdrawn is more urgent, and stays.
	switch cond.Reason {
	case law.ReasonStandalone, law.ReasonDelegated, law.ReasonNotDelegated:
		cond.Reason = law.ReasonParentRenamed
	}

	cond.Message += fmt.Sprintf("; zone %s/%s, to which its zoneRef refers, is %s%s now, and this zone keeps its name (S1.6; to "+
		"recreate it as %s: %skubectl get zone %s -n %s -o yaml > %s.yaml && kubectl replace --force -f %s.yaml)",
		spec.ZoneRef.Namespace, spec.ZoneRef.Name, target.FQDN(), law.InView(target.View), would, first, z.Name, z.Namespace,
		z.Name, z.Name)
}
