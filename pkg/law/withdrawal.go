// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
)

// What the rules of a zone allow no more stays for the zone's withdrawalGracePeriod: the Records of a namespace and
// the zones below alike (S2.5, S3.6). The time is kept once for each zone and namespace, and begins with the last
// write that took something. It is the time that servers ran, so a clock that jumps ends nothing.
//
// A zone that ends keeps its uid, by which the internal keys of what it had are found. So it is not made anew,
// whatever rule comes, until the cascade has purged them; and the owners and the journal stay until Delivery has
// withdrawn the zone.

// Withdrawal is the time that a namespace has left in a zone for what the rules of that zone allow no more.
type Withdrawal struct {
	// Since is the time of the last write that took something, in unix seconds. No time is counted from it.
	Since int64 `json:"since"`
	// Grace is the period in seconds, and Passed how many of them servers ran, as far as one has written it down.
	Grace  int64 `json:"grace,omitempty"`
	Passed int64 `json:"passed,omitempty"`
	// Cause is the cascade of that write.
	Cause string `json:"cause,omitempty"`
	// Now says that the zone's own namespace ends the period, whatever has passed of it.
	Now bool `json:"now,omitempty"`
	// Records are the rules for records that the namespace had when a cascade last met a withdrawn one, and Zones
	// likewise. Each change of such rules has what they concern decided anew. So where the rules are others now,
	// nothing is withdrawn any more.
	Records Digest `json:"records,omitzero"`
	Zones   Digest `json:"zones,omitzero"`
}

// defaultGrace is the period in seconds of the zones that a removed zone delegated (S3.6).
const defaultGrace = 24 * 60 * 60

// WithdrawalKey asks for what a namespace has left in the zone with that uid: *Withdrawal. Zones below change it
// together with their own object, so it stands for itself, and is compared by its own revision.
func WithdrawalKey(zone, namespace string) Key {
	return Key{Kind: KindWithdrawal, Object: zone, Namespace: namespace}
}

// Over reports whether the period is over.
func (w *Withdrawal) Over() bool { return w.Now || w.Passed >= w.Grace }

// EndsAt is when the period is over if a server always runs, unix seconds.
func (w *Withdrawal) EndsAt() int64 { return w.Since + w.Grace }

// isCancelled reports whether rules came back for all that was withdrawn. The key stays until the period is over: a
// Record that says endsAt never lacks it. Until the cascade of a change of rules has met what stays withdrawn it is
// reported as well, so a namespace prolongs a period at most once for each such change.
func (w *Withdrawal) isCancelled(z *Zone, namespace string) bool {
	return w.Records != z.digestRules(namespace, false) && w.Zones != z.digestRules(namespace, true)
}

// digestRules identifies what the rules of z, of reading.ruledFor, allow the namespace of records or of zones.
func (z *Zone) digestRules(namespace string, zones bool) Digest {
	var texts []string
	for _, r := range slices.Concat(z.Rules, z.given) {
		one := Rule{Records: r.Records}
		if zones {
			one = Rule{Zones: r.Zones}
		}
		if r.coversNamespace(namespace) && len(one.Records)+len(one.Zones) > 0 {
			texts = append(texts, one.text())
		}
	}
	slices.Sort(texts)
	return DigestOf(strings.Join(texts, "\n"))
}

// uncounted reports whether a mass deletion does not count what is released (S7.5): the zone's own namespace had the
// whole period to put it back, or has said that it goes.
func (w *Withdrawal) uncounted() bool { return w != nil && (w.Now || w.Grace > 0) }

// withdrawing is a cascade that meets something which the rules of a zone allow no more.
type withdrawing struct {
	zone      *Zone
	namespace string
	// child says that it is a zone, newly that it was allowed until now, and taken that a write of the zone's own
	// namespace took it. grace is the period that it gets then, in seconds.
	child, newly, taken bool
	grace               int64
	// cause tells the cascade from others.
	cause string
	now   time.Time
}

// noteWithdrawal returns the time that is left, nil for none, and notes in the plan that it begins. It begins anew with
// each write of the zone's own namespace that takes something more, and after rules came back for all. What others
// cause, as the end or the removal of a zone between, prolongs no period. release: it goes now.
func (r *reading) noteWithdrawal(plan *Plan, x withdrawing) (w *Withdrawal, release bool) {
	if x.newly && x.grace == 0 {
		return nil, true
	}
	key := WithdrawalKey(x.zone.UID, x.namespace)
	was, z := get[Withdrawal](r, key), r.ruledFor(x.zone, x.namespace)
	switch {
	case was == nil:
		was = &Withdrawal{}
	case was.Now:
		return was, true
	}
	next := *was
	if was.Since == 0 || x.taken && was.Cause != x.cause || x.newly && was.isCancelled(z, x.namespace) {
		// A shorter period concerns what it was set for (S3.6).
		next.Since, next.Grace, next.Passed, next.Cause = x.now.Unix(), max(x.grace, was.Grace-was.Passed), 0, x.cause
	}
	if met := z.digestRules(x.namespace, x.child); x.child {
		next.Zones = met
	} else {
		next.Records = met
	}
	if next != *was {
		plan.Writes = append(plan.Writes, Write{Key: key, Value: &next})
	}
	return &next, next.Over()
}

// DecideDue notes how long servers ran since a withdrawal, and owes the release when its period is over. counted is
// the withdrawal when the server began to count, and passed the number of seconds since then. The plan is empty where
// another server has noted it, or it began anew.
func DecideDue(seen *Seen, place Place, namespace string, counted Withdrawal, passed int64, workID string, now int64) Outcome {
	return decide(seen, func(r *reading) (*Plan, *Refusal) {
		plan := &Plan{}
		key := WithdrawalKey(place.UID, namespace)
		w := get[Withdrawal](r, key)
		z, _ := r.standingAt(place)
		if w == nil || *w != counted || z == nil {
			return plan, nil
		}
		next := *w
		next.Passed = min(next.Grace, next.Passed+passed)
		plan.Writes = []Write{{Key: key, Value: &next}}
		if next.Over() {
			plan.Work = releaseWork(z, []string{namespace}, workID, now)
		}
		return plan, nil
	})
}

// releaseWork is the cascade that releases what the rules of z allow some namespaces no more. It does not unsettle the
// zone: each step is delivered as it comes (S7.2).
func releaseWork(z *Zone, namespaces []string, id string, now int64) *Work {
	w := &Work{ID: id, Reason: fmt.Sprintf("zone %s releases what its rules allow no more", z.FQDN()), View: z.View, By: z.Namespace,
		Since: now, Unmarked: true}
	w.release(z, namespaces)
	return w
}

// release has the work release what the rules of z allow some namespaces no more.
func (w *Work) release(z *Zone, namespaces []string) {
	w.Releasing = z.UID
	w.Releases = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(w.Releases), namespaces...))))
	w.Scans = append(w.Scans,
		Scan{Kind: ScanNamespaces, Zone: z.UID, View: z.View, Name: z.FQDN(), Target: &Ref{Namespace: z.Namespace, Name: z.Name},
			Namespaces: namespaces},
		Scan{Kind: ScanZones, View: z.View, Name: z.FQDN(), Namespaces: namespaces})
}

// releaseNow ends the periods of namespaces that the zone's own namespace names in this write, as added by it.
func (r *reading) releaseNow(plan *Plan, z *Zone, before, after []string, workID string, now time.Time) {
	added := slices.DeleteFunc(slices.Clone(after), func(ns string) bool { return slices.Contains(before, ns) })
	if len(added) == 0 {
		return
	}
	for _, ns := range added {
		key := WithdrawalKey(z.UID, ns)
		w, given := get[Withdrawal](r, key), r.ruledFor(z, ns)
		if plan.Work == nil && (w == nil || w.isCancelled(given, ns)) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("kubi.zone/release-now does nothing for namespace %q: zone %s has nothing "+
				"of it that its rules allow no more (S3.6)", ns, z.FQDN()))
		}
		plan.Writes = append(plan.Writes, Write{Key: key, Value: &Withdrawal{Since: now.Unix(), Now: true,
			Cause: workID}})
	}
	if plan.Work == nil {
		plan.Work = releaseWork(z, added, workID, now.Unix())
	} else {
		plan.Work.release(z, added)
	}
}

// MaxReleases bounds the withdrawals that one transaction ends.
const MaxReleases = 16

// DecideReleased ends the first withdrawals whose release is through, at most MaxReleases. One that began anew
// meanwhile stays.
func DecideReleased(seen *Seen, work *Work) Outcome {
	return decide(seen, func(r *reading) (*Plan, *Refusal) {
		plan := &Plan{}
		var keys []Key
		for _, ns := range work.Releases[:min(len(work.Releases), MaxReleases)] {
			keys = append(keys, WithdrawalKey(work.Releasing, ns))
		}
		r.askAll(keys)
		for _, key := range keys {
			if w := get[Withdrawal](r, key); w != nil && w.Over() {
				plan.Writes = append(plan.Writes, Write{Key: key})
			}
		}
		return plan, nil
	})
}

// endZone releases the name and the records of a zone, as if it were removed. Its object stays, pending (S3.7). from is
// the zone that encloses it. Later: too many go at once, and it ends when others are through.
func (d *zoneDecision) endZone(plan *Plan, holding *Holding, from *Zone, counted bool) (*Plan, *Refusal) {
	z := d.ask.Before
	plan, refusal := d.vacateName(plan, holding, fmt.Sprintf("zone %s ended", z.FQDN()), maxEnds)
	if plan == nil || refusal != nil {
		return nil, refusal
	}
	for i := range plan.PendingCuts {
		if cut := &plan.PendingCuts[i]; cut.Child.UID == z.UID {
			cut.Own = cut.Own || counted
		}
	}
	// The namespace of the rules pays. The mark in the zone above is of the child's namespace: how long that zone waits
	// must not depend on how much another namespace has put there (S7.2).
	plan.Work.By = from.Namespace
	plan.Work.Ended, plan.Work.Had, plan.Work.Ends = &Place{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}, &z.Header, true
	plan = d.stayPending(plan, ReasonDelegationWithdrawn, fmt.Sprintf("zone %s, which encloses its name, does not delegate it, "+
		"and the time it had "+
		"after that is over: it holds no name and is not served (S3.7; its owner can add a delegation with zones)", from.FQDN()))
	plan.Zone.Ended, plan.Zone.Zone.Ending = z, true
	return plan, nil
}

// DecideEnded decides that what an ended zone had is released: from now on a rule may make it anew. now is in unix
// seconds.
func DecideEnded(seen *Seen, work *Work, now int64) Outcome {
	return decide(seen, func(r *reading) (*Plan, *Refusal) {
		plan := &Plan{}
		place := work.Ended
		z := get[Zone](r, ZoneKey(place.Namespace, place.Name))
		last := get[LastSerial](r, LastSerialKey(place.View, place.FQDN))
		if z == nil || z.UID != place.UID || !z.Pending || !z.Ending {
			return plan, nil // it was deleted
		}
		after := *z
		after.Ending = false
		plan.Zone = &ZoneChange{Zone: &after}
		if last != nil && last.Zone == z.UID {
			kept := *last
			kept.Zone = ""
			plan.Writes = []Write{{Key: LastSerialKey(place.View, place.FQDN), Value: &kept}}
		}
		scan := Scan{Kind: ScanPending, Target: z.ZoneRef}
		if z.ZoneRef == nil {
			scan = Scan{Kind: ScanWaiting, View: z.View, Name: z.Wanted, Exact: true}
		}
		plan.Work = &Work{ID: work.ID + "-after", Reason: fmt.Sprintf("what zone %s had is let go", place.FQDN), View: place.View, By: work.By,
			Since: now, Scans: []Scan{scan}}
		return plan, nil
	})
}

// withdrawRecord decides about a record that stands in its zone, and that the rules of that allow no more (S2.5). It
// stays until its period is over, as it is.
func (d *recordDecision) withdrawRecord(plan *Plan, holding *Holding, p *place, refusal *Refusal) (*Plan, *Refusal) {
	z, ask := d.home, &d.ask
	plan.Warnings = nil
	if base := Base(ask.Before.Owner); ask.Yields.IsZero() || ask.Yields != base {
		w, release := d.noteWithdrawal(plan, withdrawing{zone: z, namespace: ask.Namespace, newly: ask.Before.EndsAt == 0,
			taken: ask.Before.EndsAt == 0 && ask.WorkBy == z.Namespace, grace: z.Grace, cause: ask.Cause, now: ask.Now})
		if !release {
			plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Zone: &z.Ref, Serial: z.Serial, Stays: true, EndsAt: w.EndsAt(),
				Reason: ReasonDelegationWithdrawn, Message: refusal.Message + "; it stays until about status.endsAt (S2.12)"}
			return plan, nil
		}
		ask.Uncounted = ask.Uncounted || w.uncounted()
	} else {
		ask.Uncounted = true // another's record takes its place
	}
	if d.absent != "" {
		refusal = forbidden(ReasonZoneNotFound, "%s; the record is adopted when that changes", d.absent)
		p = &place{view: ask.After.View} // as of a zone that there is not (S1.8)
		if ask.After.Absolute() {
			p.fqdn, _ = name.Parse(ask.After.DomainName)
		}
	}
	return d.leaveUnadopted(plan, z, holding, p, refusal, "")
}

// mayEvict reports whether a new record gets a name from the tenant that claims it: by a rule that names it
// literally, where the rules allow that namespace the name no more (S2.13). A rule with "*" does not, so that no
// neighbour takes a name that lost its rule by accident.
func (x *delta) mayEvict() bool {
	z, base, from := x.zone, Base(x.come.Owner), x.claimedBy
	if from == "" || from == z.Namespace || x.ask.Before != nil || x.ask.Yields == base || slices.Contains(z.MadeNames, base) {
		return false
	}
	if slices.ContainsFunc(x.ownerAt(base).Claims, func(c Claim) bool { return c.Namespace != from }) {
		return false
	}
	grants := z.RuleSet().findGrants(x.place.fqdn, x.come.Type, x.ask.Namespace)
	if !slices.ContainsFunc(grants, func(g grant) bool { return g.literal && !g.shared }) {
		return false
	}
	at, err := base.In(z.FQDN())
	return err == nil && !x.ruledFor(z, from).RuleSet().allowsName(at, from)
}

// yieldWorkID is the id of the outbox item that has a namespace give a base name of a zone away. All that want the name
// owe this one item.
func yieldWorkID(zone string, base name.Rel) string { return "yields-" + zone + "-" + base.String() }

// awaitEviction has the records of the namespace from go that stand at the name, and the new record tried again after
// that: a transaction changes one record (I1).
func (x *delta) awaitEviction(plan *Plan, from string) *Plan {
	ask, p := &x.ask, x.place
	plan.Orphan = ask.waitingAt(p)
	plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Reason: ReasonNameHeld, Message: fmt.Sprintf("the namespace that has %s of "+
		"zone %s is "+
		"allowed it no more, and its records there go; the record is adopted then, in a moment (S2.13)", Base(x.come.Owner), x.zone.FQDN())}
	plan.Warnings = nil
	if !ask.Cascade {
		plan.Warnings = []string{plan.Record.Message}
	}
	base := Base(x.come.Owner)
	id := yieldWorkID(x.zone.UID, base)
	standing := get[Work](x.reading, WorkKey(id))
	at, _ := base.In(x.zone.FQDN())
	plan.Work = &Work{ID: id, Reason: fmt.Sprintf("a name of zone %s goes to another namespace", x.zone.FQDN()), View: p.view,
		By: x.zone.Namespace, Since: ask.Now.Unix(), Unmarked: true, Yields: base, Scans: []Scan{
			{Kind: ScanMembers, Zone: x.zone.UID, Owner: base, Namespaces: []string{from}},
			{Kind: ScanWaiting, View: p.view, Name: at},
		}}
	if standing != nil { // the server that carries it out begins again
		plan.Work.Times, plan.Work.Runner = standing.Times+1, standing.Runner
	}
	return plan
}
