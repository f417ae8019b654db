// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
)

// newGroup returns the group of the set, with a write for each item. The first item with a likely zone is the anchor.
func (t *Set) newGroup() *group {
	g := &group{set: t, answer: make(chan Answer, 1)}
	// A new DHCP lease usually has a new name, so creations assume an absent name, unread.
	guess := len(t.Writes)+len(t.Requirements) <= maxGuessed &&
		!slices.ContainsFunc(t.Writes, func(w *SetWrite) bool { return w.Before != nil })
	hint := ""
	for _, x := range t.Writes {
		w := t.Committer.NewWrite("records", x.Object(), x.Expected)
		w.Guess, w.RecordBefore, w.Origin = guess, x.Before, x.Origin
		w.Decide = func(seen *law.Facts) law.Outcome {
			// All items are judged against the zone before the set, with a single new serial.
			ask := x.Ask
			ask.BeforeSet = t.zoneBefore
			return records.DecideRecord(seen, ask)
		}
		w.ObjectOp = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
			op, err := t.placeRecord(ctx, w.Key, x, plan)
			return op, nil, err
		}
		// An unchanged spec needs no decision, unless the Record waits and is to be adopted.
		x.decided = x.Adopts || !x.Unchanged && x.Encoded == nil && !lawform.SameContent(x.Before, x.After)
		if eligible := x.AskErr == nil && (x.decided || len(t.Requirements) > 0); eligible && hint == "" {
			// The anchor may change to a later item that has a guess of its zone.
			if t.anchor == nil || x.LikelyZone != "" {
				t.anchor, hint = x, x.LikelyZone
			}
		}
		g.members = append(g.members, newMember(w, x))
	}
	g.firstWrite().LikelyZone = hint
	return g
}

func (w *SetWrite) Object() *v1alpha1.Record {
	if w.After != nil {
		return w.After
	}
	return w.Before
}

func (w *SetWrite) Namespace() string { return w.Object().Namespace }

// zoneRef returns the zone that the Record was in before the write, or nil.
func (w *SetWrite) zoneRef() *v1alpha1.AdoptingZone {
	if w.Before == nil {
		return nil
	}
	return w.Before.Status.ZoneRef
}

// mayBeAdopted reports whether the decision may bring the Record, a new or a waiting one, into the zone.
func (w *SetWrite) mayBeAdopted() bool { return w.decided && w.After != nil }

// awaitsFinalizers reports whether the request deletes the Record, but finalizers keep the object.
func (w *SetWrite) awaitsFinalizers() bool {
	return w.Before != nil && w.After != nil && w.Before.DeletionTimestamp == nil && w.After.DeletionTimestamp != nil
}

// beginDecision resets the set for a decision in batch b, and returns the members for package law to decide, in the
// order of decision. Other members are refused already, or need no decision.
func (t *Set) beginDecision(b *batch, g *group) (pending []*member) {
	t.zoneBefore, t.change, t.required, t.RequirementErr = nil, nil, nil, nil
	// 1. The zone before the set is the batch's zone. A pending zone has no Records, so the set has no zone then.
	if b.queue != nil && b.Zone != nil && !b.Zone.Pending {
		t.zoneBefore = b.Zone
	}
	// 2. Reset each item, and refuse those that cannot be in the set.
	for _, m := range g.members {
		m.readSet, m.plan, m.op = nil, nil, clientv3.Op{}
		m.cmps = []clientv3.Cmp{m.unchanged}
		if m.refusal = t.refuseMisfit(m.setWrite); m.refusal == nil && m.setWrite.decided {
			m.refusal = m.setWrite.AskErr
		}
		if m.refusal == nil && m.setWrite.decided {
			pending = append(pending, m)
		}
	}
	// Deletions free names. Addresses precede NS, so that no warning calls a Record of the set missing.
	slices.SortStableFunc(pending, func(a, b *member) int { return rankOf(a.setWrite) - rankOf(b.setWrite) })

	// 3. Prepare the decision about the prerequisites.
	if z := t.zoneBefore; z != nil && len(t.Requirements) > 0 { // a change set without a zone is refused anyway
		w := &Write{Object: Object{Namespace: t.Writes[0].Namespace()}, Guess: g.firstWrite().Guess}
		w.Decide = func(seen *law.Facts) law.Outcome {
			return records.DecideRequirements(seen, z.Ref, w.Namespace, t.Requirements)
		}
		t.required = &member{Write: w}
	}
	return pending
}

// rankOf returns the position of a write in the order of decision: deletions, addresses, NS, other types.
func rankOf(w *SetWrite) int {
	if w.After == nil {
		return 0
	}
	if rank, ok := ranks[strings.ToUpper(w.After.Spec.Type)]; ok {
		return rank
	}
	return len(ranks)
}

var ranks = map[string]int{"A": 1, "AAAA": 1, "NS": 2}

// Refuse returns the Invalid error of a write that does not fit into the set.
func (w *SetWrite) Refuse(path *field.Path, format string, args ...any) error {
	return apierrors.NewInvalid(v1alpha1.Kind("Record"), w.Object().Name, field.ErrorList{{Type: field.ErrorTypeForbidden,
		Field: path.String(), Detail: fmt.Sprintf(format, args...)}})
}

// refuseMisfit returns the refusal of an item that cannot be in the set, whatever its content: a Record of another
// zone, a waiting Record that is deleted or unchanged, or a deletion that a finalizer delays.
func (t *Set) refuseMisfit(w *SetWrite) error {
	in, of := w.zoneRef(), t.zoneUID()
	switch {
	case w.awaitsFinalizers():
		return w.Refuse(field.NewPath("metadata", "finalizers"), "has %s, and a change set deletes at once: delete it by itself",
			strings.Join(w.Before.Finalizers, ", "))
	case in == nil && w.mayBeAdopted():
		return nil
	case in == nil:
		return w.Refuse(field.NewPath("status", "zoneRef"), "the Record is in no zone, and a change set has Records of one zone: change "+
			"or delete it by itself")
	case of != "" && in.UID != of:
		return w.Refuse(field.NewPath("status", "zoneRef"), "the Record is in another zone than others, and a change set has Records of "+
			"one zone%s: use a second change set", t.zoneSuffix())
	}
	return nil
}

// zoneUID returns the UID of the set's zone. Until the zone is known, the first item's zone counts, "" for none.
func (t *Set) zoneUID() types.UID {
	if t.zoneBefore != nil {
		return types.UID(t.zoneBefore.UID)
	}
	if in := t.Writes[0].Object().Status.ZoneRef; in != nil {
		return in.UID
	}
	return ""
}

func (t *Set) zoneSuffix() string {
	if t.zoneBefore == nil {
		return ""
	}
	return ", here " + t.zoneBefore.FQDN().String()
}

const noZone = "no zone adopts it, and a change set has Records of one zone: write it by itself, or create the zone first"

// takesMember reports whether the plan of an item is for the set's zone. Otherwise the item gets the refusal. If the
// anchor's plan is for another zone than assumed, d.locks gets the key of that zone, to lock before the next try.
func (t *Set) takesMember(b *batch, g *group, m *member, d *decisions) bool {
	at, p := field.NewPath("spec", "domainName"), m.plan
	switch {
	case p.Zone == nil:
		m.refusal = m.setWrite.Refuse(at, noZone)
		return false
	case p.Record != nil && p.Record.Zone == nil:
		// For example, the zoneRef now names a Zone that does not exist.
		m.refusal = m.setWrite.Refuse(at, "leaves zone %s for no zone, and a change set has Records of one zone: write it by itself",
			p.Zone.Zone.FQDN())
		return false
	case t.zoneBefore != nil && p.Zone.Zone.UID == t.zoneBefore.UID:
		return true
	}
	key := b.com.Mem.Layout.Zone(p.Zone.Zone.Namespace, p.Zone.Zone.Name)
	if m.setWrite == t.anchor && key != g.firstWrite().LikelyZone {
		// The guess was wrong: a DS at child.example.org. belongs to the parent. Decide the set again, in the zone
		// found.
		g.firstWrite().LikelyZone = key
		d.locks = append(d.locks, key)
		return false
	}
	m.refusal = m.setWrite.Refuse(at, "belongs to zone %s, and a change set has Records of one zone%s: use a second change set",
		p.Zone.Zone.FQDN(), t.zoneSuffix())
	return false
}

// placeRecord returns the operation on the Record of an item, and sets SetWrite.Result. The operation is nil if nothing
// changes.
func (t *Set) placeRecord(ctx context.Context, key string, w *SetWrite, plan *law.Plan) (*clientv3.Op, error) {
	var op clientv3.Op
	switch {
	case w.Unchanged:
		return nil, nil
	case w.Encoded != nil:
		// For example, a write that changes labels alone.
		op = etcd.OpPut(key, w.Encoded)
	case w.After == nil:
		op = clientv3.OpDelete(key)
	default:
		w.Result = w.After.DeepCopy()
		place := *plan.Record
		if place.Serial.Ahead(t.change.Zone.Serial) {
			// The items cancel out, so the zone has the former serial (undoSerial).
			place.Serial = t.change.Zone.Serial
		}
		t.Committer.Placer.PlaceRecord(w.Result, &place)
		data, err := t.Committer.Mem.Records.Encode(ctx, key, w.Result)
		if err != nil {
			return nil, err
		}
		op = etcd.OpPut(key, data)
	}
	return &op, nil
}

// readOutcome copies the results of the members to the writes of the set, sends their warnings, and collects pending
// cuts. The result is true if an object has changed since the caller's read.
func (t *Set) readOutcome(g *group) (moved bool) {
	for _, m := range g.members {
		m.setWrite.Out, m.setWrite.Refusal = m.out, Status("records", m.Name, m.refusal)
	}
	if moved = g.hasMoved(); moved || g.isRefused() {
		// Nothing was written, so no warning applies.
		return moved
	}
	for _, m := range g.members {
		if m.plan != nil {
			t.passOn(g, m)
		}
	}
	t.warnOfDeletions()
	return false
}

// passOn sends the warnings of a written Record, and adds its pending cuts to the set's.
func (t *Set) passOn(g *group, m *member) {
	if !m.setWrite.Adopts {
		// The client of an adopting set did not write this Record.
		Warn(m.setWrite.Ctx, slices.DeleteFunc(m.plan.Warnings, g.answersWarning)...)
	}
	if m.setWrite.DryRun {
		return
	}
	for _, d := range m.plan.Derivations {
		if !slices.ContainsFunc(t.Derivations, d.Same) {
			t.Derivations = append(t.Derivations, d)
		}
	}
}

func (g *group) answersWarning(w law.Warning) bool {
	return !w.Host.IsZero() && slices.ContainsFunc(g.members, func(m *member) bool {
		return m.plan != nil && m.plan.Record != nil && m.plan.Record.Zone != nil && m.plan.Record.FQDN == w.Host
	})
}

func (t *Set) warnOfDeletions() {
	// The warning goes to the response of the first deletion, or of the first write if the removals are updates.
	first := t.Writes[max(0, slices.IndexFunc(t.Writes, func(w *SetWrite) bool { return w.After == nil }))]
	if t.change == nil || first.DryRun {
		return
	}
	c := *t.change
	if c.YoungExcess = nil; !isHeld(&c) {
		c.YoungExcess = c.Zone.YoungExcess(t.zoneBefore)
	}
	WarnOfDeletions(first.Ctx, &c)
}

// Zone returns the zone of the set and its serial, 0 if the set changed no content.
func (t *Set) Zone() (*v1alpha1.AdoptingZone, int64) {
	if t.change != nil {
		z := t.change.Zone
		return &v1alpha1.AdoptingZone{Namespace: z.Namespace, Name: z.Name, UID: types.UID(z.UID)}, int64(z.Serial)
	}
	for _, w := range t.Writes {
		if in := w.zoneRef(); in != nil {
			return in.DeepCopy(), 0
		}
	}
	return nil, 0
}
