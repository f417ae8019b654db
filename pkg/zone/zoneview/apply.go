// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"cmp"
	"slices"

	"github.com/google/btree"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
)

// Apply returns the snapshot that results from a step, the change of a zone from one serial to the next. It returns
// ErrMisfit if the step does not follow s, or replaces content that s does not have.
func (s *Snapshot) Apply(step content.Step) (*Snapshot, error) {
	switch {
	case step.N != s.n+1:
		return nil, s.misfitError(step.N, "the zone is at step %d and needs %d", s.n, s.n+1)
	case step.From != s.serial:
		return nil, s.misfitError(step.N, "it starts from serial %d, the zone is at %d", step.From, s.serial)
	case (step.HeaderBefore == nil) != (step.HeaderAfter == nil):
		return nil, s.misfitError(step.N, "it has one header, a change has both")
	case step.HeaderBefore != nil && !step.HeaderBefore.Equal(s.header):
		return nil, s.misfitError(step.N, "it replaces the header %+v, the zone has %+v", *step.HeaderBefore, s.header)
	}
	return s.applyContent(step)
}

// applyContent returns the snapshot after a step, and proves the step's content state. It does not compare N, serial
// and header with s.
func (s *Snapshot) applyContent(step content.Step) (*Snapshot, error) {
	next, err := s.editRRsets(step.N, step.Removed, step.Added, step.TTLs)
	if err != nil {
		return nil, err
	}
	removed, added := step.Elements()
	// The hash of the step alone is computed, so a zone of a million records costs no more.
	leads, err := s.state.LeadsTo(removed, added, step.State)
	if err != nil {
		return nil, s.misfitError(step.N, "%v", err)
	}
	if !leads {
		state, _ := s.state.Update(removed, added)
		return nil, s.misfitError(step.N, "it leads to content state %s and claims %s", state, step.State)
	}
	next.setVersion(step.HeaderAfter, step.Serial, step.N, step.State)
	return next, nil
}

// Undo is the inverse of Apply: it returns the snapshot before the zone's last step. It returns ErrMisfit if step is
// not the last, or created the zone.
func (s *Snapshot) Undo(step content.Step) (*Snapshot, error) {
	if err := s.checkLast(step); err != nil {
		return nil, err
	}

	// Apply the step in reverse: remove the added rows, and add the removed rows.
	reversedTTLs := make([]content.TTLChange, 0, len(step.TTLs))
	for _, change := range step.TTLs {
		change.Before, change.After = change.After, change.Before
		reversedTTLs = append(reversedTTLs, change)
	}
	previous, err := s.editRRsets(step.N, step.Added, step.Removed, reversedTTLs)
	if err != nil {
		return nil, err
	}

	removed, added := step.Elements()
	state, err := s.state.Update(added, removed)
	if err != nil {
		return nil, s.misfitError(step.N, "%v", err)
	}

	previous.setVersion(step.HeaderBefore, step.From, step.N-1, state)
	return previous, nil
}

// checkLast returns ErrMisfit unless the step led to s, field by field, so that Undo leads back to the zone's real
// past.
func (s *Snapshot) checkLast(step content.Step) error {
	hasOneHeader := (step.HeaderBefore == nil) != (step.HeaderAfter == nil)
	switch {
	case step.N != s.n:
		return s.misfitError(step.N, "the zone is at step %d, only that can be undone", s.n)
	case step.Serial != s.serial:
		return s.misfitError(step.N, "it leads to serial %d, the zone is at %d", step.Serial, s.serial)
	case step.State != s.state:
		return s.misfitError(step.N, "it leads to content state %s, the zone has %s", step.State, s.state)
	case step.Creates():
		return s.misfitError(step.N, "it made the zone: there is no definition before it")
	case hasOneHeader:
		return s.misfitError(step.N, "it has one header, a change has both")
	case step.HeaderAfter != nil && !step.HeaderAfter.Equal(s.header):
		return s.misfitError(step.N, "it leads to the header %+v, the zone has %+v", *step.HeaderAfter, s.header)
	}
	return nil
}

// UndoAll returns the snapshot before steps, sorted oldest first. The last step led to s.
func (s *Snapshot) UndoAll(steps []content.Step) (*Snapshot, error) {
	for _, step := range slices.Backward(steps) {
		var err error
		if s, err = s.Undo(step); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Snapshot) setVersion(header *content.Header, sn serial.Serial, n uint64, state sethash.State) {
	s.serial, s.n, s.state = sn, n, state
	if header != nil {
		s.header, s.nsRRsets = *header, header.NameServerRRsets()
	}
}

func fromFirstStep(z Zone, step content.Step) (*Snapshot, error) {
	nothing := &Snapshot{zone: z, header: *step.HeaderAfter, sets: newTree()}
	return nothing.applyContent(step)
}

type rrsetKey struct {
	owner name.Rel
	t     rdata.Type
}

func (k rrsetKey) compare(other rrsetKey) int {
	return cmp.Or(k.owner.Compare(other.owner), cmp.Compare(k.t, other.t))
}

func valueOf(ttl *content.TTL) (value content.TTL) {
	if ttl != nil {
		value = *ttl
	}
	return value
}

// editRRsets returns a copy of s with changed rows and TTLs, at the header and serial of s. A row or TTL that does not
// fit is ErrMisfit. Only changed RRsets are copied.
func (s *Snapshot) editRRsets(n uint64, removed, added []content.Row, ttls []content.TTLChange) (*Snapshot, error) {
	// Change copies of the RRsets. Readers keep s.
	edited := map[rrsetKey]*content.RRset{}
	at := func(owner name.Rel, t rdata.Type) *content.RRset {
		set, ok := edited[rrsetKey{owner, t}]
		if !ok {
			existing, _ := s.RRset(owner, t)
			existing.Owner, existing.Type, existing.Data = owner, t, slices.Clone(existing.Data)
			set = &existing
			edited[rrsetKey{owner, t}] = set
		}
		return set
	}

	for _, row := range removed {
		set := at(row.Owner, row.Type)
		i, found := slices.BinarySearch(set.Data, row.Data)
		if !found {
			return nil, s.misfitError(n, "it removes %s %s %q, which is not there", row.Owner, row.Type, row.Data)
		}
		set.Data = slices.Delete(set.Data, i, i+1)
	}
	for _, row := range added {
		set := at(row.Owner, row.Type)
		i, found := slices.BinarySearch(set.Data, row.Data)
		if found {
			return nil, s.misfitError(n, "it adds %s %s %q, which is already there", row.Owner, row.Type, row.Data)
		}
		set.Data = slices.Insert(set.Data, i, row.Data)
	}
	for _, change := range ttls {
		set, before, after := at(change.Owner, change.Type), valueOf(change.Before), valueOf(change.After)
		if set.TTL != before {
			return nil, s.misfitError(n, "it replaces ttl %s of %s %s, which has %s", before, change.Owner, change.Type, set.TTL)
		}
		set.TTL = after
	}

	// Put the changed RRsets into a clone of the tree, which shares all others with s.
	next := &Snapshot{zone: s.zone, header: s.header, nsRRsets: s.nsRRsets, rows: s.rows + len(added) - len(removed), sets: s.cloneSets()}
	for at, set := range edited {
		// An RRset has rows and a TTL, or is gone.
		isEmpty := len(set.Data) == 0
		switch hasTTL := set.TTL != (content.TTL{}); {
		case isEmpty == hasTTL:
			return nil, s.misfitError(n, "it leaves %s %s with %d rows and ttl %s", at.owner, at.t, len(set.Data), set.TTL)
		case isEmpty:
			next.sets.Delete(set)
		default:
			// The RRset stays in memory for long, so give back spare capacity.
			set.Data = slices.Clip(set.Data)
			next.sets.ReplaceOrInsert(set)
		}
	}
	return next, nil
}

func (s *Snapshot) cloneSets() *btree.BTreeG[*content.RRset] {
	s.cloning.Lock()
	defer s.cloning.Unlock()
	return s.sets.Clone()
}
