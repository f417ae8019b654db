// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

var (
	// ErrTrimmed means that the steps since a serial are no longer kept.
	ErrTrimmed = errors.New("the steps kept do not reach this serial")
	ErrUnknown = errors.New("no such zone in this view")
	ErrGone    = errors.New("the zone was removed")
)

// Config limits the memory for steps, the past changes of zones, kept for incremental transfers.
type Config struct {
	// MaxSteps limits the number of steps of a zone. Zero means 1000.
	MaxSteps int
	// MaxOctets limits the size of a zone's steps in octets. Zero means 8 MiB.
	MaxOctets int
	// MaxTotal limits the size of all steps in octets. Zero means 256 MiB.
	MaxTotal int
	// MaxAge limits the age of a step, in seconds before the newest step. Zero means seven days.
	MaxAge int64
}

// ConfigForMemory limits all steps to an eighth of the process's memory in octets, from 64 MiB to 1 GiB. The memory is
// 0 if unknown.
func ConfigForMemory(memory uint64) Config {
	if memory == 0 {
		return Config{}
	}
	return Config{MaxTotal: int(min(max(memory/8, 64<<20), 1<<30))}
}

// Set holds the content of all zones of a process, and is safe for concurrent use. Readers get immutable snapshots and
// never wait while a change is computed.
type Set struct {
	config Config

	// updateMu is held while a zone changes, and is locked before mu, which guards the fields below and is held only
	// briefly.
	updateMu    sync.Mutex
	mu          sync.RWMutex
	zones       map[string]*zoneState // by UID
	totalOctets int                   // of all steps
	agesChecked int64                 // Unix time of the newest step at the last check of ages
	// names contains the UIDs of zones by settled name. If several zones have a name, the others are in shadowedUIDs,
	// and the last of them gets the name when the zone in names is removed or renamed.
	names        map[viewName]string
	shadowedUIDs map[viewName][]string
	waiting      map[string]*waiters // readers that wait for a later serial, by UID
	subs         map[*subscriber]struct{}
}

// zoneState is the state of a zone in the Set. States are replaced, never modified, so readers need no lock.
type zoneState struct {
	// newest is the last content whose hash agrees with the Zone's.
	newest *Snapshot
	// settled is the content for name servers, older than newest while a change of many records is incomplete, or while
	// a mass deletion waits for consent. It is nil until the zone first settles.
	settled *Snapshot
	// steps lead to newest without a gap, oldest first, and octets is their total size.
	steps  []content.Step
	octets int
}

type viewName struct {
	view string
	fqdn name.Name
}

// NewSet returns an empty Set, with the default for each limit that is zero.
func NewSet(config Config) *Set {
	return &Set{
		config: Config{
			MaxSteps: cmp.Or(config.MaxSteps, 1000), MaxOctets: cmp.Or(config.MaxOctets, 8<<20), MaxTotal: cmp.Or(config.MaxTotal, 256<<20),
			MaxAge: cmp.Or(config.MaxAge, 7*24*3600),
		},
		zones:        map[string]*zoneState{},
		names:        map[viewName]string{},
		shadowedUIDs: map[viewName][]string{},
		waiting:      map[string]*waiters{},
		subs:         map[*subscriber]struct{}{},
	}
}

// Put adds a zone, or replaces the content, with a snapshot that was read as a whole. If settled is false, name servers
// keep the former settled snapshot.
func (v *Set) Put(snapshot *Snapshot, settled bool) {
	v.updateMu.Lock()
	defer v.updateMu.Unlock()
	// Keep the steps only if they lead to the same content.
	next := &zoneState{newest: snapshot}
	if known := v.lookUp(snapshot.zone.UID); known != nil {
		next.settled = known.settled
		if known.newest.HasVersionOf(snapshot) {
			next.steps, next.octets = known.steps, known.octets
		}
	}
	if settled {
		next.settled = snapshot
	}
	v.publishZone(snapshot.zone, next)
}

// PutUnsettled adds a zone with an earlier settled snapshot, and the steps from settled to the newest.
func (v *Set) PutUnsettled(snapshot, settled *Snapshot, steps []content.Step) {
	v.updateMu.Lock()
	defer v.updateMu.Unlock()
	next := &zoneState{newest: snapshot, settled: settled}
	// A reader at the settled serial needs these steps when the zone settles.
	v.keepSteps(next, steps)
	v.publishZone(snapshot.zone, next)
}

// Apply applies a transaction of the journal to a zone: the steps that the zone lacks, or its removal (tx.Gone). The
// identity is used only if tx creates the zone. Apply returns ErrMisfit if a step does not fit the content, and
// ErrUnknown if the Set does not have the zone. After an error nothing has changed, and the caller must read the whole
// zone again (Put).
func (v *Set) Apply(uid string, tx content.Transaction, identity Zone) error {
	v.updateMu.Lock()
	defer v.updateMu.Unlock()
	if tx.Gone {
		v.removeZone(uid)
		return nil
	}

	// Apply the steps to a copy, because readers may have the current state.
	next := &zoneState{}
	if known := v.lookUp(uid); known != nil {
		*next = *known
	}
	applied, err := next.applySteps(uid, tx.Steps, identity)
	if err != nil {
		return err
	}
	if next.newest == nil {
		return fmt.Errorf("zone %s: %w", uid, ErrUnknown)
	}

	last := tx.After
	if len(tx.Steps) > 0 {
		last = tx.Steps[len(tx.Steps)-1].N
	}
	if last > next.newest.n {
		return next.newest.misfitError(last, "the zone is at step %d, those between are missing", next.newest.n)
	}

	// Name servers get the newest content only if the transaction settles the newest step.
	settles := tx.Settled && (last == 0 || last == next.newest.n)
	if settles {
		next.settled = next.newest
	}

	if len(applied) == 0 && !settles {
		return nil
	}
	v.keepSteps(next, applied)
	v.publishZone(next.newest.zone, next)
	if n := len(applied); n > 0 {
		v.boundSteps(applied[n-1].Time)
	}
	return nil
}

// applySteps applies the steps that the zone lacks, and returns these. The first is used as the identity if the zone is
// new. After an error h must not be published.
func (h *zoneState) applySteps(uid string, steps []content.Step, first Zone) (applied []content.Step, err error) {
	for _, step := range steps {
		switch {
		// The listing has read the zone with this step already.
		case h.newest != nil && step.N <= h.newest.n:
			continue
		case h.newest != nil:
			h.newest, err = h.newest.Apply(step)
		// The Set lacks the zone, or has missed its creation.
		case !step.Creates():
			err = fmt.Errorf("zone %s, step %d: %w", uid, step.N, ErrUnknown)
		case first.UID != uid:
			err = fmt.Errorf("zone %s, step %d: %w: it makes the zone, whose identity is given as uid %q", uid, step.N, ErrMisfit,
				first.UID)
		default:
			h.newest, err = fromFirstStep(first, step)
		}
		if err != nil {
			return nil, err
		}
		applied = append(applied, step)
	}
	return applied, nil
}

// keepSteps appends applied steps to a zone's, and drops the oldest beyond MaxSteps and MaxOctets. Beyond MaxOctets, an
// eighth more is dropped: the rest is copied to free memory, and this must be rare. Slices held by readers stay valid.
func (v *Set) keepSteps(state *zoneState, applied []content.Step) {
	for i := range applied {
		state.octets += countOctets(&applied[i])
	}
	// Readers may share the array, but never see beyond the length of their slice.
	state.steps = append(state.steps, applied...)

	drop := func() {
		state.octets -= countOctets(&state.steps[0])
		state.steps = state.steps[1:]
	}

	for len(state.steps) > v.config.MaxSteps {
		drop()
	}

	if state.octets <= v.config.MaxOctets {
		return
	}
	for len(state.steps) > 0 && state.octets > v.config.MaxOctets-v.config.MaxOctets/8 {
		drop()
	}
	state.steps = slices.Clone(state.steps)
}

const ageEvery = 3600

// boundSteps drops the steps older than MaxAge and, if all steps together exceed MaxTotal, the oldest steps of all
// zones. The newest step is from the time now, in Unix seconds.
func (v *Set) boundSteps(now int64) {
	v.mu.Lock()
	defer v.mu.Unlock()

	// Ages are checked only once an hour, because each check reads all zones.
	full := v.totalOctets > v.config.MaxTotal
	if wait := max(now-v.agesChecked, v.agesChecked-now) < ageEvery; wait && !full {
		return
	}
	v.agesChecked = now

	var zones byOldest
	drop := map[string]int{} // number of steps by zone
	for uid, h := range v.zones {
		n := 0
		for n < len(h.steps) && h.steps[n].Time < now-v.config.MaxAge {
			v.totalOctets -= countOctets(&h.steps[n])
			n++
		}
		if drop[uid] = n; n < len(h.steps) {
			zones = append(zones, oldest{h.steps[n].Time, uid})
		}
	}

	// Drop an eighth more than necessary, so that this search is rare.
	aim := v.config.MaxTotal
	if full {
		aim -= aim / 8
	}
	// The heap has a zone's oldest remaining step. Its root is the oldest of all.
	heap.Init(&zones)
	for v.totalOctets > aim && len(zones) > 0 {
		uid := zones[0].uid
		h := v.zones[uid]
		// The zone with the oldest step loses that step.
		v.totalOctets -= countOctets(&h.steps[drop[uid]])
		if drop[uid]++; drop[uid] < len(h.steps) {
			zones[0].time = h.steps[drop[uid]].Time
			heap.Fix(&zones, 0)
		} else {
			heap.Pop(&zones)
		}
	}

	maps.DeleteFunc(drop, func(_ string, n int) bool { return n == 0 })
	for uid, n := range drop {
		v.zones[uid] = v.zones[uid].withoutSteps(n)
	}
}

func (h *zoneState) withoutSteps(n int) *zoneState {
	next := *h
	for i := range n {
		next.octets -= countOctets(&next.steps[i])
	}
	next.steps = slices.Clone(next.steps[n:])
	return &next
}

type oldest struct {
	time int64
	uid  string
}

type byOldest []oldest

func (x byOldest) Len() int           { return len(x) }
func (x byOldest) Less(i, j int) bool { return x[i].time < x[j].time }
func (x byOldest) Swap(i, j int)      { x[i], x[j] = x[j], x[i] }
func (x *byOldest) Push(one any)      { *x = append(*x, one.(oldest)) }
func (x *byOldest) Pop() any {
	last := len(*x) - 1
	one := (*x)[last]
	*x = (*x)[:last]
	return one
}

// countOctets estimates the memory of a step, by its texts and a constant for each structure.
func countOctets(step *content.Step) (n int) {
	n = stepOctets + len(step.By) + len(step.Trace) + len(step.Manager) + len(step.Audit) + len(step.Cause)
	if step.Record != nil {
		n += rowOctets + len(step.Record.Namespace) + len(step.Record.Name)
	}
	for i := range step.Others {
		n += rowOctets + len(step.Others[i].Namespace) + len(step.Others[i].Name)
	}
	for i := range step.TTLs {
		n += rowOctets + len(step.TTLs[i].Owner.String())
	}
	return n + countRows(step.Removed) + countRows(step.Added) + countHeader(step.HeaderBefore) + countHeader(step.HeaderAfter)
}

func countRows(rows []content.Row) (n int) {
	for i := range rows {
		n += rowOctets + len(rows[i].Owner.String()) + len(rows[i].Data)
	}
	return n
}

func countHeader(header *content.Header) (n int) {
	if header == nil {
		return 0
	}
	for _, server := range header.NameServers {
		n += rowOctets + len(server.Name) + rowOctets*len(server.Addresses) + len(strings.Join(server.Addresses, ""))
	}
	return n + rowOctets
}

const (
	stepOctets = 330
	rowOctets  = 40
)

func (v *Set) Remove(uid string) {
	v.updateMu.Lock()
	defer v.updateMu.Unlock()
	v.removeZone(uid)
}

// removeZone removes a zone, wakes its waiters, and notifies subscribers. The caller must hold v.updateMu.
func (v *Set) removeZone(uid string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	// Wait may be called before the zone comes, so a zone that the Set lacks may have waiters.
	if waiting := v.waiting[uid]; waiting != nil {
		waiting.gone = true
		v.wakeWaiters(uid)
	}

	known, ok := v.zones[uid]
	if !ok {
		return
	}
	delete(v.zones, uid)
	v.totalOctets -= known.octets
	v.removeName(uid, known.settled)
	v.notifySubscribers(Event{Zone: known.newest.zone, Gone: true, LastSettled: known.settled})
}

func (v *Set) lookUp(uid string) *zoneState {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.zones[uid]
}

// publishZone replaces a zone's state for all readers at once, then wakes waiters and subscribers. The caller must hold
// v.updateMu.
func (v *Set) publishZone(zone Zone, next *zoneState) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.zones[zone.UID]
	v.zones[zone.UID] = next
	if v.totalOctets += next.octets; known != nil {
		v.totalOctets -= known.octets
	}

	// The name follows the settled snapshot: a renamed zone answers under its former name until it settles.
	if known == nil || known.settled != next.settled {
		if known != nil {
			v.removeName(zone.UID, known.settled)
		}
		if next.settled != nil {
			// The last zone to settle under a name gets the name. The other zone gives it up in a step that is not
			// settled yet.
			at := viewName{zone.View, next.settled.header.FQDN}
			if before, ok := v.names[at]; ok {
				v.shadowedUIDs[at] = append(v.shadowedUIDs[at], before)
			}
			v.names[at] = zone.UID
		}
	}

	v.wakeWaiters(zone.UID)
	v.notifySubscribers(Event{Zone: zone})
}

// removeName takes a zone's settled name away. Another zone settled under that name gets the name. The caller must hold
// v.mu.
func (v *Set) removeName(uid string, settled *Snapshot) {
	if settled == nil {
		return
	}
	at := viewName{settled.zone.View, settled.header.FQDN}
	hidden := v.shadowedUIDs[at]
	last := len(hidden) - 1
	switch {
	// The zone was shadowed itself.
	case v.names[at] != uid:
		hidden = slices.DeleteFunc(hidden, func(other string) bool { return other == uid })
	case last >= 0:
		v.names[at], hidden = hidden[last], hidden[:last]
	default:
		delete(v.names, at)
	}
	if len(hidden) == 0 {
		delete(v.shadowedUIDs, at)
	} else {
		v.shadowedUIDs[at] = hidden
	}
}

// ByUID returns a zone's newest snapshot, settled or not, or false if the zone is unknown.
func (v *Set) ByUID(uid string) (*Snapshot, bool) {
	known := v.lookUp(uid)
	if known == nil {
		return nil, false
	}
	return known.newest, true
}

// Settled returns a zone's snapshot for name servers, or false if the zone never settled.
func (v *Set) Settled(uid string) (*Snapshot, bool) {
	known := v.lookUp(uid)
	if known == nil || known.settled == nil {
		return nil, false
	}
	return known.settled, true
}

// Find returns the zone settled under a name, or false if there is none. A renamed zone keeps its former name until it
// settles.
func (v *Set) Find(view string, fqdn name.Name) (*Snapshot, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	known, ok := v.zones[v.names[viewName{view, fqdn}]]
	if !ok {
		return nil, false
	}
	return known.settled, true
}

// Journal returns the number of steps of all zones, and the time of the oldest step in Unix seconds, or 0 if unknown.
func (v *Set) Journal() (steps int, oldest int64) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, known := range v.zones {
		if steps += len(known.steps); len(known.steps) > 0 {
			first := known.steps[0].Time // 0 if unknown
			oldest = min(cmp.Or(oldest, first), cmp.Or(first, oldest))
		}
	}
	return steps, oldest
}

// All iterates over the settled snapshots of all zones, without holding a lock.
func (v *Set) All() iter.Seq[*Snapshot] {
	return func(yield func(*Snapshot) bool) {
		v.mu.RLock()
		settled := make([]*Snapshot, 0, len(v.zones))
		for _, known := range v.zones {
			if known.settled != nil {
				settled = append(settled, known.settled)
			}
		}
		v.mu.RUnlock()
		for _, snapshot := range settled {
			if !yield(snapshot) {
				return
			}
		}
	}
}

// Changes returns the steps after the serial since, up to until (0 means the newest), oldest first. The error is
// ErrTrimmed if some are no longer kept, or ErrUnknown.
func (v *Set) Changes(uid string, since, until serial.Serial) ([]content.Step, error) {
	_, steps, err := v.stepsBetween(uid, since, until)
	return steps, err
}

// RaisesSerial reports whether a step after since, up to until, changes only the serial, or is no longer kept. A server
// with the serial since must then transfer the whole zone, because its content may differ.
func (v *Set) RaisesSerial(uid string, since, until serial.Serial) bool {
	steps, err := v.Changes(uid, since, until)
	return err != nil || slices.ContainsFunc(steps, content.Step.Raises)
}

// stepsBetween returns a zone's state, and the steps after the serial since, up to until. See Changes for the errors.
func (v *Set) stepsBetween(uid string, since, until serial.Serial) (*zoneState, []content.Step, error) {
	h := v.lookUp(uid)
	if h == nil {
		return nil, nil, fmt.Errorf("zone %s: %w", uid, ErrUnknown)
	}

	until = cmp.Or(until, h.newest.serial)
	// position returns the number of steps that lead to a serial, or -1 if the serial is unknown. Serials wrap, so they
	// are compared only for equality.
	position := func(sn serial.Serial) int {
		if sn == h.newest.serial {
			return len(h.steps)
		}
		// A zone's first step has no serial before it.
		return slices.IndexFunc(h.steps, func(step content.Step) bool { return step.From == sn && !step.Creates() })
	}

	from, to := position(since), position(until)
	// until lies before since, or a serial is too old or never existed.
	if from < 0 || to < from {
		return nil, nil, fmt.Errorf("%s, from serial %d to %d: %w: %d are kept, the newest is %d", h.newest, since, until, ErrTrimmed,
			len(h.steps), h.newest.serial)
	}
	return h, slices.Clip(h.steps[from:to]), nil
}

// Oldest returns the first serial that Changes accepts as since, and the number of steps after it.
func (v *Set) Oldest(uid string) (since serial.Serial, steps int, err error) {
	known := v.lookUp(uid)
	if known == nil {
		return 0, 0, fmt.Errorf("zone %s: %w", uid, ErrUnknown)
	}
	since = known.newest.serial
	for _, step := range slices.Backward(known.steps) {
		if step.Creates() {
			break
		}
		since, steps = step.From, steps+1
	}
	return since, steps, nil
}

// EntryChanges is like Changes, but returns each step as a change of resource records.
func (v *Set) EntryChanges(uid string, since, until serial.Serial) ([]dns.Change, error) {
	_, changes, err := v.ResolvedSteps(uid, since, until)
	return changes, err
}

// ResolvedSteps returns the results of both Changes and EntryChanges, without a change of the zone in between.
func (v *Set) ResolvedSteps(uid string, since, until serial.Serial) (steps []content.Step, changes []dns.Change, err error) {
	known, steps, err := v.stepsBetween(uid, since, until)
	if err != nil || len(steps) == 0 {
		return nil, nil, err
	}

	// Go back from the newest snapshot to until.
	last := steps[len(steps)-1].N
	after := known.newest
	for i := len(known.steps) - 1; known.steps[i].N > last; i-- {
		if after, err = after.Undo(known.steps[i]); err != nil {
			return nil, nil, err
		}
	}

	changes, err = Resolve(after, steps)
	return steps, changes, err
}

// Resolve returns each step, the change of a zone by one serial, as a change of resource records. The last step must
// have led to the snapshot newest.
func Resolve(newest *Snapshot, steps []content.Step) ([]dns.Change, error) {
	changes := make([]dns.Change, len(steps))
	after := newest
	for i, step := range slices.Backward(steps) {
		before, err := after.Undo(step)
		if err != nil {
			return nil, err
		}
		changes[i] = StepChange(before, after, step)
		after = before
	}
	return changes, nil
}
