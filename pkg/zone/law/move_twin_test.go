// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// After the creation, deletion or end of a zone, records move in steps, and clients may write between two steps. The
// twin moves all records at once in two other worlds: in the first before these writes, in the second after them. A
// name gained only when records move in steps was gained in a gap. A name missing only then was lost.

// movingWorld is a world whose cascades stop after each step.
type movingWorld struct {
	*world
	unlocked bool
	labels   map[string]string // by work id: equal in worlds with equal histories
	walks    map[string]*walk  // by label
	retried  []int             // writes to retry
	steps    int               // of all cascades, except locked
	freed    bool              // a write may have freed names
}

type walk struct {
	work *law.Work
	next func() (stage, bool)
	stop func()
	at   string // kind of the last stage, except "locked"
	// locked is set while other cascades have to move first.
	locked bool
	rest   []candidate
}

type stage struct {
	kind   string // "begun", "moved", "locked" (by another cascade), "unlocked", "tried", "ended"
	object object
}

// happening is an event for the other worlds to repeat.
type happening struct {
	stage
	label string // of the work; "" for a client's write, or if all works ended
	write int    // index, or -1
	at    time.Time
}

type gapWrite struct {
	record *law.Record
	zone   *zones.ZoneSpec
	gone   *object
	isZone bool
}

func (x gapWrite) describeWrite() string {
	switch {
	case x.record != nil:
		r := x.record
		return fmt.Sprintf("%s/%s %s %s %v ref=%v wait=%v", r.Namespace, r.Name, r.DomainName, r.Type, r.Values, r.ZoneRef,
			r.WaitsOnConflict)
	case x.zone != nil:
		return fmt.Sprintf("zone %s/%s %s ref=%v", x.zone.Namespace, x.zone.Name, x.zone.DomainName, x.zone.ZoneRef)
	default:
		return fmt.Sprintf("delete %s, zone %v", x.gone, x.isZone)
	}
}

func newMovingWorld(unlocked bool) *movingWorld {
	m := &movingWorld{world: newWorld(), unlocked: unlocked, labels: map[string]string{}, walks: map[string]*walk{}}
	m.quick = true
	return m
}

// labelWorks labels new works by their cause, and removes their locks in a world without locks.
func (m *movingWorld) labelWorks(cause string) {
	n := 0
	for _, x := range m.outbox {
		if m.labels[x.ID] == "" {
			m.labels[x.ID] = fmt.Sprintf("%s/%d", cause, n)
			n++
		}
	}
	if !m.unlocked {
		return
	}
	for k, v := range m.facts {
		if h, ok := v.(*law.Holding); ok {
			free := *h
			free.Works = slices.Clone(h.Works)
			for i := range free.Works {
				free.Works[i].Locks = name.Name{}
			}
			m.facts[k] = &free
		}
	}
}

func (m *movingWorld) isLocked() bool {
	for _, v := range m.facts {
		if h, ok := v.(*law.Holding); ok && slices.ContainsFunc(h.Works, func(w law.CascadeMark) bool { return !w.Locks.IsZero() }) {
			return true
		}
	}
	return false
}

// writeInGap reports whether the client must retry.
func (m *movingWorld) writeInGap(i int, x gapWrite) (later bool, answer string) {
	var refusal *law.Refusal
	had := x.gone != nil || x.zone != nil || m.records[object{x.record.Namespace, x.record.Name}] != nil
	switch {
	case x.record != nil:
		_, refusal = m.putRecord(*x.record)
	case x.zone != nil:
		if m.zones[object{x.zone.Namespace, x.zone.Name}] == nil {
			_, refusal = m.putZone(*x.zone, true)
		}
	case x.isZone:
		if z := m.zones[*x.gone]; z != nil {
			z.annotated = true
			_, refusal = m.tryDeleteZone(*x.gone)
		}
	default:
		if m.records[*x.gone] != nil {
			m.deleteRecord(*x.gone)
		}
	}
	m.labelWorks(fmt.Sprint("write ", i))
	if refusal == nil {
		m.freed = m.freed || had
		return false, "done"
	}
	return refusal.Kind == law.Later, refusal.Message
}

// stepsOf executes a work. Records move in groups of atOnce: all records of a group leave their zone before the first
// of them enters the next.
func (m *movingWorld) stepsOf(x *walk, label string, atOnce int) iter.Seq[stage] {
	work := x.work
	return func(yield func(stage) bool) {
		m.beginWork(work)
		m.labelWorks(label)
		all := m.listCandidates(work)
		n := slices.IndexFunc(all, func(c candidate) bool { return !c.came })
		if n < 0 {
			n = len(all)
		}
		x.rest = all[n:]
		if !yield(stage{kind: "begun"}) {
			return
		}
		for some := range slices.Chunk(all[:n], atOnce) {
			var onward []candidate
			for _, c := range some {
				moves, locked := m.stepRecord(work, c, 1)
				for ; locked; moves, locked = m.stepRecord(work, c, 1) {
					if !yield(stage{"locked", c.object}) {
						return
					}
				}
				if moves {
					onward = append(onward, c)
				}
				m.labelWorks(label)
				if !yield(stage{"moved", c.object}) {
					return
				}
			}
			for _, c := range onward {
				m.reconsiderRecord(work, c)
				m.labelWorks(label)
				if !yield(stage{"moved", c.object}) {
					return
				}
			}
		}
		m.unlockNames(work)
		if !yield(stage{kind: "unlocked"}) {
			return
		}
		for len(x.rest) > 0 {
			c := x.rest[0]
			m.tryRest(x, label, c.object, c.zone)
			if !yield(stage{"tried", c.object}) {
				return
			}
		}
		m.outbox = slices.DeleteFunc(m.outbox, func(w *law.Work) bool { return w.ID == work.ID })
		m.finishWork(work)
		m.labelWorks(label)
		yield(stage{kind: "ended"})
	}
}

// tryRest decides a waiting object, or an object that stays in its zone.
func (m *movingWorld) tryRest(x *walk, label string, o object, zone bool) {
	i := slices.IndexFunc(x.rest, func(c candidate) bool { return c.object == o && c.zone == zone })
	if i < 0 {
		return
	}
	c := x.rest[i]
	x.rest = slices.Delete(slices.Clone(x.rest), i, i+1)
	if zone {
		m.reconsiderZone(x.work, c)
	} else {
		m.reconsiderRecord(x.work, c)
	}
	m.labelWorks(label)
}

// walkOf returns the cascade of a label, begun if necessary, or nil.
func (m *movingWorld) walkOf(label string, atOnce int) *walk {
	if x := m.walks[label]; x != nil {
		return x
	}
	i := slices.IndexFunc(m.outbox, func(w *law.Work) bool { return m.labels[w.ID] == label })
	if i < 0 {
		return nil
	}
	x := &walk{work: m.outbox[i]}
	x.next, x.stop = iter.Pull(m.stepsOf(x, label, atOnce))
	m.walks[label] = x
	return x
}

// walkTo executes a cascade up to a stage. At names locked by another cascade, the records of that cascade move first:
// all of them or, at names locked by this cascade, only the records before.
func (m *movingWorld) walkTo(x *walk, kind string) {
	for x != nil && x.at != kind && x.at != "ended" {
		s, ok := x.next()
		if !ok {
			return
		}
		if s.kind != "locked" {
			m.steps++
			x.at = s.kind
			continue
		}
		before, first := m.steps, !m.hasLockedWalk()
		x.locked = true
		for _, work := range slices.Clone(m.outbox) {
			if other := m.walkOf(m.labels[work.ID], 1); other != nil && !other.locked && !other.hasMoved() {
				m.walkTo(other, "unlocked")
			}
		}
		x.locked = false
		if m.steps > before {
			continue
		}
		if first {
			panicInvariant("a name stays locked: %s", s.object)
		}
		return
	}
}

// hasLockedWalk reports whether a cascade waits for another.
func (m *movingWorld) hasLockedWalk() bool {
	for _, x := range m.walks {
		if x.locked {
			return true
		}
	}
	return false
}

func (x *walk) hasMoved() bool { return slices.Contains([]string{"unlocked", "tried", "ended"}, x.at) }

func (m *movingWorld) settleMoves() {
	for _, label := range slices.Sorted(maps.Keys(m.walks)) {
		m.walkTo(m.walks[label], "ended")
		m.walks[label].stop()
	}
	clear(m.walks)
	m.settleAll()
}

// retryWrites repeats the writes refused for now, and reports the answers.
func (m *movingWorld) retryWrites(writes []gapWrite, answered func(i int, answer string)) {
	waiting := m.retried
	m.retried = nil
	for _, i := range waiting {
		if later, answer := m.writeInGap(i, writes[i]); later {
			m.retried = append(m.retried, i)
		} else {
			answered(i, answer)
		}
	}
}

// repeatMoves repeats events in another world, but moves all records at once, either at the begin of the cascade or at
// the end of the lock.
func (m *movingWorld) repeatMoves(happened []happening, writes []gapWrite, first bool) {
	note := func(int, string) {}
	for _, h := range happened {
		m.now = h.at
		switch {
		case h.kind == "settled":
			m.settleMoves()
			m.retryWrites(writes, note)
		case h.write >= 0:
			if later, _ := m.writeInGap(h.write, writes[h.write]); later {
				m.retried = append(m.retried, h.write)
			}
		case h.kind == "begun" && first, h.kind == "unlocked" && !first:
			if x := m.walkOf(h.label, 1); x != nil && x.at == "" {
				m.walkTo(x, "unlocked")
				m.retryWrites(writes, note)
			}
		case h.kind == "tried":
			if x := m.walkOf(h.label, 1); x != nil {
				m.walkTo(x, "unlocked")
				m.tryRest(x, h.label, h.object, false)
				m.tryRest(x, h.label, h.object, true)
			}
		case h.kind == "ended":
			m.walkTo(m.walkOf(h.label, 1), "ended")
		}
	}
	m.settleMoves()
	for n := 0; len(m.retried) > 0; n++ {
		if n > 100 {
			panicInvariant("S2.10: names stay locked when all is settled")
		}
		m.retryWrites(writes, note)
		m.settleMoves()
	}
}

// listNames maps each object with its name and zone to its namespace and base name.
func (m *movingWorld) listNames() map[string]string {
	out := map[string]string{}
	for o, r := range m.records {
		if z := r.placed.Zone; z != nil {
			base := "." + r.placed.FQDN.String()
			if i := max(strings.LastIndex(base, "._"), strings.LastIndex(base, ".*")); i >= 0 {
				_, base, _ = strings.Cut(base[i+1:], ".")
				base = "." + base
			}
			out[fmt.Sprintf("record %s at %s %s in %s/%s", o, r.placed.FQDN, r.record.Type, z.Namespace, z.Name)] = o.Namespace + base
		}
	}
	for o, z := range m.zones {
		if !z.zone.Pending {
			out[fmt.Sprintf("zone %s at %s", o, z.zone.FQDN())] = o.Namespace + "." + z.zone.FQDN().String()
		}
	}
	return out
}

type moveScene struct {
	zones    []zones.ZoneSpec
	records  []law.Record
	withdraw *zones.ZoneSpec // the zone above without its rule
	begins   gapWrite
}

func (s *moveScene) setUp(unlocked bool) *movingWorld {
	m := newMovingWorld(unlocked)
	for _, z := range s.zones {
		m.now = m.now.Add(time.Second)
		_, _ = m.putZone(z, true)
		m.settleAll()
	}
	for _, r := range s.records {
		m.now = m.now.Add(time.Second)
		_, _ = m.putRecord(r)
	}
	m.settleAll()
	if s.withdraw != nil {
		_, _ = m.putZone(*s.withdraw, true)
		m.settleAll()
	}
	return m
}

func (s *moveScene) beginMove(m *movingWorld) {
	m.now = m.now.Add(time.Second)
	if s.withdraw != nil {
		m.passTime(48 * time.Hour)
		m.labelWorks("begins")
		return
	}
	_, _ = m.writeInGap(-1, s.begins)
}

func drawMoveScene(t *rapid.T) *moveScene {
	s := &moveScene{}
	wide := func(o object, fqdn string) zones.ZoneSpec {
		return zones.ZoneSpec{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name}, DomainName: fqdn, Header: someHeader,
			ZoneSettings: makeSettings(allowEverything(), 3600, 100)}
	}
	s.zones = append(s.zones, wide(someZones[0], "org."))
	which := rapid.SampledFrom([]string{"goes", "goes", "comes", "comes", "ends"}).Draw(t, "the zone")
	o := rapid.SampledFrom(someZones[1:]).Draw(t, "object")
	moves := wide(o, rapid.SampledFrom([]string{"example.org.", "b.example.org.", "www.example.org."}).Draw(t, "name"))
	if rapid.IntRange(0, 2).Draw(t, "narrow") == 0 {
		moves.Rules = drawRules(t)
	}
	if which != "comes" {
		s.zones = append(s.zones, moves)
	}
	for range rapid.IntRange(0, 2).Draw(t, "more zones") {
		s.zones = append(s.zones, drawZone(t))
	}
	for range rapid.IntRange(1, 10).Draw(t, "records") {
		r := drawRecord(t)
		if rapid.Bool().Draw(t, "plain") { // most records are in the zone
			r.ZoneRef, r.View, r.DomainName = nil, "", rapid.SampledFrom(someOwners[:12]).Draw(t, "at")
		}
		s.records = append(s.records, r)
	}
	switch which {
	case "comes":
		s.begins.zone = &moves
	case "goes":
		s.begins.gone, s.begins.isZone = &o, true
	default:
		top := s.zones[0]
		top.Rules = slices.Clone(top.Rules)
		for i := range top.Rules {
			top.Rules[i].Zones = nil
		}
		s.withdraw = &top
	}
	return s
}

// drawGapWrite draws a client's write, mostly at, above or below names of others.
func (m *movingWorld) drawGapWrite(t *rapid.T) gapWrite {
	switch rapid.IntRange(0, 9).Draw(t, "write") {
	case 0:
		z := drawZone(t)
		z.Rules = append(z.Rules, allowEverything()...)
		return gapWrite{zone: &z}
	case 1:
		o := rapid.SampledFrom(someZones).Draw(t, "gone")
		return gapWrite{gone: &o, isZone: true}
	case 2:
		ns := rapid.SampledFrom(someNamespaces).Draw(t, "namespace")
		return gapWrite{gone: &object{ns, fmt.Sprintf("r%d", rapid.IntRange(1, 5).Draw(t, "record"))}}
	default:
		r := drawRecord(t)
		if all := sortedObjects(m.records); len(all) > 0 && rapid.IntRange(0, 2).Draw(t, "near") > 0 {
			if at := m.records[rapid.SampledFrom(all).Draw(t, "others'")].placed.FQDN; !at.IsZero() {
				r.ZoneRef, r.DomainName = nil, drawNear(t, at)
			}
		}
		return gapWrite{record: &r}
	}
}

func drawNear(t *rapid.T, at name.Name) string {
	if up, ok := at.Parent(); ok && up.String() != "." && rapid.IntRange(0, 4).Draw(t, "above") == 0 {
		at = up
	}
	text := at.String()
	if under := rapid.SampledFrom([]string{"", "", "*.", "_acme-challenge.", "y."}).Draw(t, "under"); under != "*." || text[0] != '*' {
		text = under + text
	}
	return text
}

func moveInSteps(t *rapid.T, m *movingWorld) (happened []happening, writes []gapWrite) {
	second := func() { m.now = m.now.Add(time.Second) }
	wrote := func(i int, answer string) {
		t.Logf("%s: %s", writes[i].describeWrite(), answer)
		happened = append(happened, happening{write: i, at: m.now})
	}
	left := rapid.IntRange(1, 6).Draw(t, "writes")
	for n := 0; len(m.outbox) > 0; n++ {
		if n > 1000 {
			panicInvariant("a move goes on and on")
		}
		for left > 0 && rapid.IntRange(0, 2).Draw(t, "a client") > 0 {
			left--
			second()
			if len(m.retried) > 0 && rapid.Bool().Draw(t, "again") {
				m.retryWrites(writes, wrote)
				continue
			}
			writes = append(writes, m.drawGapWrite(t))
			i := len(writes) - 1
			if later, answer := m.writeInGap(i, writes[i]); later {
				m.retried = append(m.retried, i)
			} else {
				wrote(i, answer)
			}
		}
		second()
		var first []string // per namespace
		by := map[string]bool{}
		for _, x := range m.outbox {
			if !by[x.By] {
				by[x.By] = true
				first = append(first, m.labels[x.ID])
			}
		}
		label := first[0]
		if len(first) > 1 {
			label = rapid.SampledFrom(first).Draw(t, "cascade")
		}
		x := m.walkOf(label, rapid.IntRange(1, 3).Draw(t, "at once"))
		if x.at != "" && x.at != "unlocked" && x.at != "tried" && rapid.IntRange(0, 9).Draw(t, "crashes") == 0 {
			x.stop()
			delete(m.walks, label)
			continue
		}
		s, ok := x.next()
		if !ok {
			panicInvariant("a cascade has no next step")
		}
		t.Logf("  %s: %s %s", label, s.kind, s.object)
		if s.kind == "locked" { // it is tried again after the rest
			i := slices.IndexFunc(m.outbox, func(w *law.Work) bool { return w.ID == x.work.ID })
			m.outbox = append(slices.Delete(m.outbox, i, i+1), x.work)
			continue
		}
		x.at = s.kind
		again := func(h happening) bool { return h.label == label && h.kind == "begun" }
		if s.kind == "begun" && slices.ContainsFunc(happened, again) {
			continue
		}
		happened = append(happened, happening{stage: s, label: label, write: -1, at: m.now})
		if s.kind == "ended" {
			delete(m.walks, label)
		}
	}
	for n := 0; n == 0 || len(m.retried) > 0; n++ {
		if n > 100 {
			panicInvariant("S2.10: names stay locked when all is settled")
		}
		second()
		happened = append(happened, happening{stage: stage{kind: "settled"}, write: -1, at: m.now})
		m.settleMoves()
		m.retryWrites(writes, wrote)
	}
	m.settleMoves()
	return happened, writes
}

// compareMoves returns the differences from both worlds in which records move at once. If a write freed names (frees),
// or another zone was created or removed, records meet other neighbours. Then a namespace may have more or fewer names
// at a former base name (former).
func compareMoves(former map[string]bool, frees bool, steps, first, last *movingWorld) (out []string) {
	have, one, other := steps.listNames(), first.listNames(), last.listNames()
	for _, x := range slices.Sorted(maps.Keys(have)) {
		if one[x] == "" && other[x] == "" && !(frees && former[have[x]]) {
			out = append(out, "got in the gap: "+x)
		}
	}
	for _, x := range slices.Sorted(maps.Keys(one)) {
		if other[x] != "" && have[x] == "" && !frees {
			out = append(out, "lost in the gap: "+x)
		}
	}
	return out
}

func describeMove(t *rapid.T, unlocked bool) (differs []string, locked bool) {
	s := drawMoveScene(t)
	defer func() {
		if r := recover(); r != nil {
			text, ok := r.(string)
			if !ok || !strings.HasPrefix(text, "invariant: ") {
				panic(r)
			}
			differs = append(differs, text)
		}
	}()
	m := s.setUp(unlocked)
	former := map[string]bool{}
	names := m.listNames()
	for _, x := range slices.Sorted(maps.Keys(names)) {
		t.Logf("stands: %s", x)
		former[names[x]] = true
	}
	s.beginMove(m)
	m.freed = false
	locked = m.isLocked() || unlocked
	happened, writes := moveInSteps(t, m)
	var worlds []*movingWorld
	for _, early := range []bool{true, false} {
		other := s.setUp(false)
		s.beginMove(other)
		other.repeatMoves(happened, writes, early)
		worlds = append(worlds, other)
	}
	return compareMoves(former, m.freed, m, worlds[0], worlds[1]), locked
}

// S2.10.
func TestMove_isAsIfAtOnce_S2_10(t *testing.T) {
	often := 8 // a few seconds
	if os.Getenv("KUBIZONE_TEST_LONG") != "" {
		often = 400
	}
	all, locked := 0, 0
	for i := range often {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				differs, was := describeMove(t, false)
				if all++; was {
					locked++
				}
				for _, line := range differs {
					t.Errorf("%s", line)
				}
			})
		})
	}
	t.Logf("names were locked in %d of %d moves", locked, all)
}

// Without the locks, some random move gives a name to another namespace. The other test, where no name is gained with
// the locks, would therefore notice a gain.
func TestMove_withoutLocksTheDamageIsSeen(t *testing.T) {
	found, all := 0, 0
	for found == 0 && all < 5000 { // some of a hundred differ, as a rule
		rapid.Check(t, func(t *rapid.T) {
			differs, _ := describeMove(t, true)
			if all++; len(differs) > 0 {
				found++
			}
		})
	}
	t.Logf("%d of %d moves differ", found, all)
	if found == 0 {
		t.Error("no move without locks differs from one at once")
	}
}
