// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/sethash"
)

// Condense is what steps that follow each other do together, as one (RFC 1995 §5): what came and went in between is
// not in it. Its lists are in canonical order, so that it follows from what the zone contained before and after.
func Condense(steps []Step) Step {
	type rrset struct {
		owner name.Rel
		t     rdata.Type
	}
	last := steps[len(steps)-1]
	out := Step{N: last.N, From: steps[0].From, Serial: last.Serial, State: last.State, Time: last.Time}
	rows, ttls := map[Row]int{}, map[rrset]TTLChange{}
	for _, step := range steps {
		for _, row := range step.Removed {
			rows[row]--
		}
		for _, row := range step.Added {
			rows[row]++
		}
		for _, change := range step.TTLs {
			k := rrset{change.Owner, change.Type}
			if earlier, ok := ttls[k]; ok {
				change.Before = earlier.Before
			}
			ttls[k] = change
		}
		if step.HeaderAfter != nil {
			if out.HeaderAfter == nil {
				out.HeaderBefore = step.HeaderBefore
			}
			out.HeaderAfter = step.HeaderAfter
		}
	}
	if out.HeaderBefore != nil && out.HeaderBefore.Equal(*out.HeaderAfter) {
		out.HeaderBefore, out.HeaderAfter = nil, nil
	}
	for row, n := range rows {
		switch {
		case n < 0:
			out.Removed = append(out.Removed, row)
		case n > 0:
			out.Added = append(out.Added, row)
		}
	}
	for _, change := range ttls {
		if !EqualTTLs(change.Before, change.After) {
			out.TTLs = append(out.TTLs, change)
		}
	}
	slices.SortFunc(out.Removed, Row.Compare)
	slices.SortFunc(out.Added, Row.Compare)
	slices.SortFunc(out.TTLs, func(x, y TTLChange) int {
		return cmp.Or(x.Owner.Compare(y.Owner), cmp.Compare(x.Type, y.Type))
	})
	return out
}

// RecordRef names the Record whose write made a step.
type RecordRef struct {
	Namespace string `json:"ns"`
	Name      string `json:"n"`
	UID       string `json:"u"`
}

// TTLChange is a change of an RRset's TTL. Before nil: the RRset is new; After
// nil: it is gone. An RRset that keeps its TTL has no TTLChange, however its
// values change.
type TTLChange struct {
	Owner  name.Rel   `json:"o"`
	Type   rdata.Type `json:"t"`
	Before *TTL       `json:"b,omitempty"`
	After  *TTL       `json:"a,omitempty"`
}

// Step takes a definition to the next: one serial (I3). It says all that is
// needed to be applied and undone, and nothing that must be looked up.
type Step struct {
	// N counts the steps of a zone; each is one more than the last.
	N uint64 `json:"n"`
	// From is the serial before the step, 0 for the step that makes the zone.
	From serial.Serial `json:"f,omitzero"`
	// Serial is the serial of the definition after the step.
	Serial serial.Serial `json:"s"`
	// State is the content state after the step.
	State sethash.State `json:"h,omitzero"`
	// HeaderBefore and HeaderAfter are both set when the header changed. Before
	// is nil in the step that makes the zone, and only there.
	HeaderBefore *Header `json:"hb,omitempty"`
	HeaderAfter  *Header `json:"ha,omitempty"`
	// Removed and Added are rows that were there and were not; no row is in
	// both lists or twice in one.
	Removed []Row `json:"r,omitempty"`
	Added   []Row `json:"a,omitempty"`
	// TTLs has at most one change for each RRset.
	TTLs []TTLChange `json:"t,omitempty"`
	// Record and By say what was written and which user wrote it; they are not part of
	// the definition. Record is nil where the cause is not a Record.
	Record *RecordRef `json:"rec,omitempty"`
	By     string     `json:"by,omitempty"`
	// Time is when, in unix seconds.
	Time int64 `json:"at,omitempty"`
}

// Creates reports whether the step makes the zone.
func (s Step) Creates() bool { return s.HeaderBefore == nil && s.HeaderAfter != nil }

// Elements are what the step takes out of the content state and puts in: State
// is the state before it, updated by them.
func (s Step) Elements() (removed, added []sethash.Element) {
	for _, row := range s.Removed {
		removed = append(removed, row.Element())
	}
	for _, row := range s.Added {
		added = append(added, row.Element())
	}
	for _, change := range s.TTLs {
		if change.Before != nil {
			removed = AppendTTL(removed, change.Owner, change.Type, *change.Before)
		}
		if change.After != nil {
			added = AppendTTL(added, change.Owner, change.Type, *change.After)
		}
	}
	return removed, added
}

// Identity is where a zone's object is and the view it is in; none of it changes.
type Identity struct {
	View      string `json:"v,omitempty"`
	Namespace string `json:"ns"`
	Name      string `json:"n"`
}

// Transaction is the value of one journal key. One without steps marks that
// the zone has settled, or that it is gone.
type Transaction struct {
	// After is, in a transaction without steps, the N of the last step before
	// it, so that a feed which overlaps cannot settle a later state by an older
	// mark; 0 means whatever is newest when it is applied.
	After uint64 `json:"n,omitempty"`
	Steps []Step `json:"s,omitempty"`
	// Zone says whose journal this is, in the transaction that makes the zone.
	Zone *Identity `json:"z,omitempty"`
	// Settled says that the definition after the last step is one to deliver (S7.2).
	Settled bool `json:"ok,omitempty"`
	// Gone says that the zone was removed.
	Gone bool `json:"gone,omitempty"`
}
