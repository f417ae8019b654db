// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// world is a server whose store is a set of maps. It supplies the facts of decisions, applies plans like a transaction,
// executes works, and panics if a plan breaks an invariant.
type world struct {
	facts   map[law.Key]any // stored kinds only
	zones   map[object]*zoneObject
	records map[object]*recordObject
	// delegations add to the rules of the zones (S4.3).
	delegations map[object]*delegationObject
	waiting     map[waitKey]bool
	leaving     map[string]*law.Adoption // by namespace: data of a Record being replaced
	outbox      []*law.Work
	derivations []law.Derivation
	holds       map[string]*hold              // of held zones, by uid
	views       map[string]*zoneview.Snapshot // by zone uid, from the journal alone
	journal     map[string][]content.Step

	now     time.Time
	uid     int
	notices []law.Notice
	// quick skips the repeated checks of each decision.
	quick bool
	asked int
}

type object struct{ Namespace, Name string }

func (o object) String() string { return o.Namespace + "/" + o.Name }

type zoneObject struct {
	spec    zones.ZoneSpec
	zone    *law.Zone
	created int64
	waits   *law.Waiting
	// annotated: has the annotation kubi.zone/delete (S8.1).
	annotated bool
	delegated *law.Condition
	servable  *law.Condition
}

// hold is a held zone's parent uid, and the parent's count.
type hold struct{ parent, counted string }

type recordObject struct {
	record law.Record
	placed law.Placement
	waits  *law.Waiting
}

type waitKey struct {
	view string
	fqdn name.Name
	ref  object // the awaited zone object
	zone bool   // a pending zone waits, not a record
	object
}

func newWorld() *world {
	return &world{
		facts: map[law.Key]any{}, zones: map[object]*zoneObject{}, records: map[object]*recordObject{},
		delegations: map[object]*delegationObject{},
		waiting:     map[waitKey]bool{}, holds: map[string]*hold{}, views: map[string]*zoneview.Snapshot{},
		journal: map[string][]content.Step{},
		now:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

func panicInvariant(format string, args ...any) { panic(fmt.Sprintf("invariant: "+format, args...)) }

func (w *world) makeUID(kind string) string {
	w.uid++
	return fmt.Sprintf("%s-%d", kind, w.uid)
}

func (w *world) answerKey(k law.Key) any {
	switch k.Kind {
	case law.KindZone:
		if z := w.zones[object{k.Namespace, k.Object}]; z != nil {
			copied := *z.zone
			return &copied
		}
		return nil
	case law.KindOwnersBelow:
		out := &law.OwnersBelow{}
		var below []name.Rel
		for key := range w.facts {
			if key.Kind == law.KindOwner && key.Zone == k.Zone && key.Owner != k.Owner && isBelow(key.Owner, k.Owner) {
				below = append(below, key.Owner)
			}
		}
		slices.SortFunc(below, func(x, y name.Rel) int { return cmp.Compare(x.Key(), y.Key()) })
		for _, at := range below {
			out.Add(k.Owner, at, w.facts[law.OwnerKey(k.Zone, at)].(*law.Owner))
		}
		slices.SortFunc(out.Claims, func(x, y law.Claim) int { return cmp.Compare(x.Namespace, y.Namespace) })
		return out
	case law.KindWork:
		for _, x := range w.outbox {
			if x.ID == k.Object {
				copied := *x
				return &copied
			}
		}
		return nil
	case law.KindZonesBelow:
		out := &law.ZonesBelow{}
		for key, v := range w.facts {
			if key.Kind == law.KindHolding && key.View == k.View && k.Name.Encloses(key.Name) {
				out.Zones = append(out.Zones, law.ZoneBelow{FQDN: key.Name, Holding: *v.(*law.Holding)})
			}
		}
		slices.SortFunc(out.Zones, func(x, y law.ZoneBelow) int { return x.FQDN.Compare(y.FQDN) })
		return out
	case law.KindForeign:
		return w.listForeign(k)
	case law.KindAwaited:
		out := &law.Awaited{}
		for o, r := range w.records {
			if !k.Name.IsZero() && o.Namespace == k.Namespace && r.placed.Zone == nil && r.waits != nil && r.waits.View == k.View &&
				r.waits.FQDN == k.Name {
				out.Any, out.Count = true, min(out.Count+1, law.MaxWaiting)
			}
		}
		for o, d := range w.delegations {
			out.Any = out.Any || d.in == "" && o.Namespace == k.Namespace && d.spec.Zone == k.Object
		}
		return out
	case law.KindTouched:
		if k.Zone != "" {
			return w.findDataBelow(k)
		}
		return &law.Awaited{Any: w.isTouched(k)}
	case law.KindMember:
		panicInvariant("a decision asks for a member, which is for cascades alone: %v", k)
	}
	return w.facts[k]
}

// findDataBelow reads the first names in key order, as a store does.
func (w *world) findDataBelow(k law.Key) *law.Awaited {
	var below []name.Rel
	for key := range w.facts {
		if key.Kind == law.KindOwner && key.Zone == k.Zone && isUnder(k.Owner, key.Owner) {
			below = append(below, key.Owner)
		}
	}
	slices.SortFunc(below, func(x, y name.Rel) int { return cmp.Compare(x.Key(), y.Key()) })
	first := below[:min(len(below), law.FirstOwners)]
	found := slices.ContainsFunc(first, func(at name.Rel) bool { return w.facts[law.OwnerKey(k.Zone, at)].(*law.Owner).HasData() })
	return &law.Awaited{Any: found || len(first) == law.FirstOwners}
}

func (w *world) isTouched(k law.Key) bool {
	target := object{k.Namespace, k.Object}
	for at := range w.waiting {
		if k.Name.IsZero() && at.ref == target || k.Object == "" && at.view == k.View && !at.fqdn.IsZero() && k.Name.Encloses(at.fqdn) {
			return true
		}
	}
	for o, d := range w.delegations {
		if k.Name.IsZero() && d.in == "" && o.Namespace == k.Namespace && d.spec.Zone == k.Object {
			return true
		}
	}
	for key, v := range w.facts {
		h, is := v.(*law.Holding)
		if is && k.Name.IsZero() && h.Target != nil && (object{h.Target.Namespace, h.Target.Name}) == target ||
			is && !k.Name.IsZero() && k.Object != "" && key.View == k.View && k.Name.Encloses(key.Name) {
			return true
		}
	}
	return false
}

// listForeign returns the same as a store: the first keys in key order.
func (w *world) listForeign(k law.Key) any {
	kind, isAt := law.KindMember, k.Zone != "" && !k.Owner.IsZero()
	if k.Zone == "" {
		kind = law.KindHolding
	} else if k.Name.IsZero() && !isAt {
		kind = law.KindCount
	}
	var keys []law.Key
	for key := range w.facts {
		if key.Kind == kind && key.Zone == k.Zone && (!isAt || key.Owner == k.Owner) && key.View == k.View &&
			(kind != law.KindHolding || k.Name.Encloses(key.Name)) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(x, y law.Key) int {
		return cmp.Or(cmp.Compare(x.Name.Key(), y.Name.Key()), cmp.Compare(x.Owner.Key(), y.Owner.Key()),
			cmp.Compare(x.Namespace, y.Namespace))
	})
	out := &law.Foreign{}
	if kind != law.KindCount && len(keys) >= law.FirstKeys {
		keys, out.More = keys[:law.FirstKeys], true
	}
	for _, key := range keys {
		switch v := w.facts[key].(type) {
		case *law.Count:
			if v.Records > 0 {
				out.Add(k.Namespace, key.Namespace, v.Records, name.Name{})
			}
		case *law.Member:
			var at name.Name
			if !isAt {
				at, _ = key.Owner.In(k.Name)
			}
			out.Add(k.Namespace, key.Namespace, 1, at)
		case *law.Holding:
			out.AddZone(k, key.Name, v)
		}
	}
	return out
}

func isBelow(sub, up name.Rel) bool {
	for r, ok := sub, true; ok; r, ok = r.Parent() {
		if r == up {
			return true
		}
	}
	return false
}

// decideAll runs a decision until all requested facts have been read. It checks promise 1 of the package, too: requests
// end, the answer is a function of the facts, and the facts stay unchanged.
func (w *world) decideAll(ask func(*law.Facts) law.Outcome) law.Outcome {
	seen := law.NewFacts()
	for round := 1; ; round++ {
		if round > 20 {
			panicInvariant("the law asks without end: %v", seen)
		}
		w.asked = max(w.asked, round)
		before := w.proveFacts(seen)
		out := ask(seen)
		if after := w.proveFacts(seen); after != before {
			panicInvariant("a decision changed its facts:\n%s\n%s", before, after)
		}
		if len(out.Need) > 0 {
			if out.Plan != nil || out.Refusal != nil {
				panicInvariant("Need beside an answer")
			}
			grown := false
			for _, k := range out.Need {
				if _, known := seen.Get(k); !known {
					grown = true
				}
				seen.Put(k, w.answerKey(k))
			}
			if !grown {
				panicInvariant("the law takes facts of one moment for stale: %v", out.Need)
			}
			continue
		}
		if (out.Plan == nil) == (out.Refusal == nil) {
			panicInvariant("neither or both of Plan and Refusal")
		}
		if w.quick {
			return out
		}
		clone, less := law.NewFacts(), law.NewFacts()
		for k, fact := range seen.All() {
			clone.Put(k, fact)
			// An unused fact makes no difference.
			if !seen.IsUsed(k) {
				fact = nil
			}
			less.Put(k, fact)
		}
		if again := ask(clone); writeFingerprint(again) != writeFingerprint(out) {
			panicInvariant("same facts, other answer:\n%s\n%s", writeFingerprint(out), writeFingerprint(again))
		}
		if again := ask(less); writeFingerprint(again) != writeFingerprint(out) {
			panicInvariant("the answer rests on more than it says:\n%s\n%s", writeFingerprint(out), writeFingerprint(again))
		}
		return out
	}
}

func (w *world) proveFacts(seen *law.Facts) string {
	if w.quick {
		return ""
	}
	return writeFingerprint(seen)
}

func writeFingerprint(v any) string {
	if seen, ok := v.(*law.Facts); ok {
		var lines []string
		for k, fact := range seen.All() {
			lines = append(lines, fmt.Sprintf("%v=%s", k, writeFingerprint(fact)))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	if out, ok := v.(law.Outcome); ok && out.Plan == nil {
		return fmt.Sprint(out.Need) + writeFingerprint(out.Refusal)
	} else if ok {
		plan := *out.Plan
		var writes []string
		for _, x := range plan.Writes {
			writes = append(writes, fmt.Sprintf("%v=%s", x.Key, writeFingerprint(x.Value)))
		}
		plan.Writes = nil
		return writeFingerprint(plan) + strings.Join(writes, "\n")
	}
	b, err := json.Marshal(v)
	if err != nil {
		panicInvariant("%T: %v", v, err)
	}
	return string(b)
}

// applyPlan applies a plan like a transaction. existing is the cascade of the step, or nil for a client's write.
func (w *world) applyPlan(o object, isZone bool, plan *law.Plan, existing *law.Work) {
	for _, x := range plan.Writes {
		switch x.Key.Kind {
		case law.KindHolding, law.KindOwner, law.KindCount, law.KindMember, law.KindLastSerial, law.KindCut, law.KindRules,
			law.KindWithdrawal, law.KindDue, law.KindReverseLinks, law.KindAddressed:
		default:
			panicInvariant("a plan writes the computed fact %v", x.Key)
		}
		if x.Key.Zone != "" && (plan.Zone == nil || plan.Zone.Zone.UID != x.Key.Zone) {
			panicInvariant("I5: a key of zone %s changes and the zone does not: %v", x.Key.Zone, x.Key)
		}
		if x.Value == nil {
			delete(w.facts, x.Key)
		} else {
			w.facts[x.Key] = x.Value
		}
	}
	for _, k := range waitKeys(plan.WaitingBefore, o, isZone) {
		delete(w.waiting, k)
	}
	for _, k := range waitKeys(plan.Waiting, o, isZone) {
		w.waiting[k] = true
	}
	for _, pending := range []*law.Work{plan.Work} {
		if pending != nil {
			work := *pending
			if i := slices.IndexFunc(w.outbox,
				func(x *law.Work) bool { return x.ID == work.ID }); i >= 0 { // a Delegation's works are one item
				w.outbox[i] = &work
				continue
			}
			w.outbox = append(w.outbox, &work)
		}
	}
	for _, d := range plan.Derivations {
		if !slices.Contains(w.derivations, d) {
			w.derivations = append(w.derivations, d)
		}
	}
	if plan.Zone != nil {
		w.applyZone(plan.Zone, existing)
	}
}

func (w *world) applyZone(c *law.ZoneChange, existing *law.Work) {
	o := object{c.Zone.Namespace, c.Zone.Name}
	z := w.zones[o]
	if c.Removed {
		if c.Step != nil {
			panicInvariant("a zone that goes has a step")
		}
		return
	}
	if z == nil {
		panicInvariant("plan for zone %s, which is not there", o)
	}
	w.notices = append(w.notices, c.Notices...)
	before := z.zone
	after := *c.Zone
	if c.Delegated != nil {
		z.delegated = c.Delegated
	}
	if c.Servable != nil {
		z.servable = c.Servable
	}
	if before != nil && !before.Pending && !after.Pending {
		// I3: serial, state and N change exactly with a step.
		if moved := before.Serial != after.Serial || before.State != after.State || before.N != after.N ||
			before.Rows != after.Rows || before.RRsets != after.RRsets || !before.Header.Equal(after.Header); moved != (c.Step != nil) {
			panicInvariant("I3: zone %s: definition moved %v, step %v", after.FQDN(), moved, c.Step)
		}
		if c.Step != nil && !after.Serial.Ahead(before.Serial) {
			panicInvariant("S6.8: serial of %s from %d to %d", after.FQDN(), before.Serial, after.Serial)
		}
	}
	if len(after.DS) > 0 && (after.Pending || before == nil || before.Pending || before.FQDN() != after.FQDN()) {
		panicInvariant("S12.2: zone %s has DS with a new name, or none: %q", after.FQDN(), after.DS)
	}
	if c.Step != nil {
		w.followStep(&after, *c.Step)
	}
	if !after.Pending && c.Settled() {
		after.SettledSerial = after.Serial
	}
	z.zone = &after
	if c.BeginsHold {
		w.holds[after.UID] = &hold{}
	} else if after.Pending || c.Holding.Held == nil {
		delete(w.holds, after.UID)
	}
	if existing != nil && !after.Pending && slices.ContainsFunc(c.Holding.Works,
		func(x law.CascadeMark) bool { return x.ID == existing.ID }) &&
		!slices.ContainsFunc(existing.Zones, func(p law.Place) bool { return p.UID == after.UID }) {
		existing.Zones = append(existing.Zones, law.Place{Ref: after.Ref, View: after.View, FQDN: after.FQDN()})
	}
}

// followStep follows the journal forward and back, like a view.
func (w *world) followStep(z *law.Zone, step content.Step) {
	if step.N != z.N || step.Serial != z.Serial || step.State != sethash.State(z.State) {
		panicInvariant("the step of %s is not its zone's: %+v", z.FQDN(), step)
	}
	w.journal[z.UID] = append(w.journal[z.UID], step)
	identity := zoneview.Zone{UID: z.UID, View: z.View, Namespace: z.Namespace, Name: z.Name}
	was := w.views[z.UID]
	if was == nil {
		set := zoneview.NewSet(zoneview.Config{})
		if err := set.Apply(z.UID, content.Transaction{Steps: []content.Step{step}}, identity); err != nil {
			panicInvariant("first step of %s: %v", z.FQDN(), err)
		}
		w.views[z.UID], _ = set.ByUID(z.UID)
		return
	}
	is, err := was.Apply(step)
	if err != nil {
		panicInvariant("step of %s: %v", z.FQDN(), err)
	}
	back, err := is.Undo(step)
	if err != nil {
		panicInvariant("undoing a step of %s: %v", z.FQDN(), err)
	}
	if back.Hash() != was.Hash() || back.Serial() != was.Serial() || back.Len() != was.Len() {
		panicInvariant("undoing a step of %s leads elsewhere", z.FQDN())
	}
	w.views[z.UID] = is
}

func waitKeys(x *law.Waiting, o object, isZone bool) []waitKey {
	var out []waitKey
	if x == nil {
		return nil
	}
	if !x.FQDN.IsZero() {
		out = append(out, waitKey{view: x.View, fqdn: x.FQDN, zone: isZone, object: o})
	}
	if x.Zone != nil {
		out = append(out, waitKey{ref: object{x.Zone.Namespace, x.Zone.Name}, zone: isZone, object: o})
	}
	return out
}

func (r *recordObject) readContribution() *law.Adoption {
	if r.placed.Zone == nil {
		return nil
	}
	a := &law.Adoption{Zone: *r.placed.Zone, FQDN: r.placed.FQDN, EndsAt: r.placed.EndsAt, Admission: r.placed.Admission}
	a.Type, a.TTL, a.Values = r.record.Type, r.record.TTL, r.record.Values
	if !r.record.Absolute() {
		a.Owner, _ = name.ParseRel(r.record.DomainName)
	}
	return a
}

func (w *world) putRecord(r law.Record) (*law.Plan, *law.Refusal) {
	o := object{r.Namespace, r.Name}
	was := w.records[o]
	ask := records.RecordInput{Namespace: r.Namespace, Name: r.Name, After: &r, Now: w.now, By: r.Namespace, WorkID: w.makeUID("work")}
	if was != nil {
		r.UID, r.Created, r.Terminating = was.record.UID, was.record.Created, was.record.Terminating
		ask.Before, ask.WaitingBefore, ask.DueAt = was.readContribution(), was.waits, was.dueAt()
		ask.HadZone = was.placed.Reason == law.ReasonMoving
		ask.SamePlace = was.record.DomainName == r.DomainName && was.record.View == r.View &&
			(was.record.Type == rdata.DS) == (r.Type == rdata.DS) &&
			writeFingerprint(was.record.ZoneRef) == writeFingerprint(r.ZoneRef)
	} else {
		r.UID, r.Created = w.makeUID("record"), w.now.Unix()
	}
	ask.UID, ask.SetsExpiry = r.UID, was == nil || was.record.ExpiresAt != r.ExpiresAt
	out := w.decideAll(func(s *law.Facts) law.Outcome { return records.DecideRecord(s, ask) })
	if out.Refusal != nil {
		return nil, out.Refusal
	}
	w.applyPlan(o, false, out.Plan, nil)
	w.records[o] = &recordObject{record: r, placed: *out.Plan.Record, waits: out.Plan.Waiting}
	w.countPendingCuts()
	w.adoptReplacement(o.Namespace, ask.Before, out.Plan)
	return out.Plan, nil
}

func (w *world) deleteRecord(o object) *law.Plan {
	was := w.records[o]
	ask := records.RecordInput{Namespace: o.Namespace, Name: o.Name, UID: was.record.UID, Before: was.readContribution(),
		WaitingBefore: was.waits, DueAt: was.dueAt(),
		Now: w.now, By: o.Namespace, WorkID: w.makeUID("work")}
	out := w.decideAll(func(s *law.Facts) law.Outcome { return records.DecideRecord(s, ask) })
	if out.Refusal != nil {
		panicInvariant("S2.4: deleting %s is refused: %v", o, out.Refusal)
	}
	w.applyPlan(o, false, out.Plan, nil)
	delete(w.records, o)
	w.countPendingCuts()
	w.adoptReplacement(o.Namespace, ask.Before, out.Plan)
	return out.Plan
}

// adoptReplacement adopts the first Record that fits of those waiting at the name that a Record has left. The ledger
// does both in one transaction.
func (w *world) adoptReplacement(namespace string, left *law.Adoption, plan *law.Plan) {
	if !plan.Awaited {
		return
	}
	w.leaving = map[string]*law.Adoption{namespace: left}
	defer func() { w.leaving = nil }()
	work := &law.Work{By: namespace, View: plan.Zone.Zone.View, Zones: []law.Place{{Ref: plan.Zone.Zone.Ref}}, Unmarked: true,
		Scans: []law.Scan{{Kind: law.ScanWaiting, View: plan.Zone.Zone.View, Name: left.FQDN, Exact: true,
			Namespaces: []string{namespace}}}}
	for _, c := range w.listCandidates(work) {
		if !c.zone && w.reconsiderRecord(work, c) && w.records[c.object].placed.Zone != nil {
			return
		}
	}
}

func mustParse[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// accepted fails the test for a refusal: mustAccept(w.putZone(spec, true))(t).
func mustAccept(_ *law.Plan, refusal *law.Refusal) func(failer) {
	return func(t failer) {
		t.Helper()
		if refusal != nil {
			t.Fatal(refusal)
		}
	}
}

// failer is a test, also of rapid.
type failer interface {
	Helper()
	Fatal(...any)
}

// putZone creates or updates a zone for a client. The DS stay.
func (w *world) putZone(spec zones.ZoneSpec, establish bool) (*law.Plan, *law.Refusal) {
	if was := w.zones[object{spec.Namespace, spec.Name}]; was != nil {
		spec.DS = was.zone.DS
	}
	return w.writeZone(spec, establish)
}

// signZone sets the DS for the parent (S12.2).
func (w *world) signZone(o object, ds []string) *law.Plan {
	spec := w.zones[o].spec
	spec.DS = ds
	plan, refusal := w.writeZone(spec, false)
	if refusal != nil {
		panicInvariant("S12.2: a controller is refused: %v", refusal)
	}
	return plan
}

func (w *world) writeZone(spec zones.ZoneSpec, establish bool) (*law.Plan, *law.Refusal) {
	o := object{spec.Namespace, spec.Name}
	was := w.zones[o]
	ask := zones.ZoneInput{After: &spec, MayEstablish: establish, Now: w.now, By: spec.Namespace, WorkID: w.makeUID("work")}
	created := w.now.Unix()
	if was != nil {
		spec.UID, created = was.spec.UID, was.created
		before := *was.zone
		ask.Before, ask.WaitingBefore, ask.Annotated = &before, was.waits, was.annotated
		switch {
		case was.spec.DomainName != spec.DomainName:
			ask.Renames = "spec.domainName"
		case was.spec.View != spec.View:
			ask.Renames = "spec.view"
		case writeFingerprint(was.spec.ZoneRef) != writeFingerprint(spec.ZoneRef):
			ask.Renames = "spec.zoneRef"
		}
	} else {
		spec.UID = w.makeUID("zone")
	}
	out := w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideZone(s, ask) })
	if out.Refusal != nil {
		return nil, out.Refusal
	}
	if was == nil {
		was = &zoneObject{created: created}
		w.zones[o] = was
	}
	was.spec, was.waits = spec, out.Plan.Waiting
	was.spec.DS = nil // DS belong to the zone's status
	w.applyPlan(o, true, out.Plan, nil)
	w.countPendingCuts()
	return out.Plan, nil
}

// deleteZone annotates a zone with objects of other namespaces first.
func (w *world) deleteZone(o object) *law.Plan {
	plan, refusal := w.tryDeleteZone(o)
	if refusal != nil && refusal.Reason == law.ReasonInUse {
		w.zones[o].annotated = true
		plan, refusal = w.tryDeleteZone(o)
	}
	if refusal != nil {
		panicInvariant("S8.1: deleting zone %s is refused: %v", o, refusal)
	}
	return plan
}

func (w *world) tryDeleteZone(o object) (*law.Plan, *law.Refusal) {
	was := w.zones[o]
	before := *was.zone
	ask := zones.ZoneInput{Before: &before, WaitingBefore: was.waits, Annotated: was.annotated, Now: w.now, By: o.Namespace,
		WorkID: w.makeUID("work")}
	out := w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideZone(s, ask) })
	inUse := out.Refusal != nil && out.Refusal.Reason == law.ReasonInUse
	if inUse != (w.hasForeign(was.zone) && !was.annotated && !before.Terminating) {
		panicInvariant("S8.1: deleting zone %s: %v", o, out.Refusal)
	}
	if out.Refusal != nil {
		return nil, out.Refusal
	}
	w.applyPlan(o, true, out.Plan, nil)
	delete(w.zones, o)
	w.countPendingCuts()
	return out.Plan, nil
}

// hasForeign reports whether the zone has records of other namespaces, or delegates zones to them. A pending zone has
// none, because its former objects are being released.
func (w *world) hasForeign(z *law.Zone) bool {
	if z.Pending {
		return false
	}
	for o, r := range w.records {
		if o.Namespace != z.Namespace && r.placed.Zone != nil && r.placed.Zone.UID == z.UID {
			return true
		}
	}
	for _, v := range w.facts {
		if h, ok := v.(*law.Holding); ok && h.Namespace != z.Namespace && h.Parent != nil && h.Parent.UID == z.UID {
			return true
		}
	}
	return false
}

func (w *world) zoneOf(view string, n name.Name) *law.Holding {
	h, _ := w.facts[law.HoldingKey(view, n)].(*law.Holding)
	return h
}

func (w *world) findEnclosing(view string, n name.Name) *law.Holding {
	for at, ok := n, true; ok; at, ok = at.Parent() {
		if h := w.zoneOf(view, at); h != nil {
			return h
		}
	}
	return nil
}

func (w *world) holdingOf(z *law.Zone) *law.Holding { return w.zoneOf(z.View, z.FQDN()) }
