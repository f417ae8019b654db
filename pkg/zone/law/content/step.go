// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
)

// Merge returns a single step (the change between two serials) for writes that commit together. The author is that of
// the first write. The result is nil without steps.
func Merge(steps []Step) *Step {
	switch len(steps) {
	case 0:
		return nil
	case 1:
		return &steps[0]
	}
	merged, first := Condense(steps), &steps[0]
	merged.By, merged.Origin, merged.Record, merged.Trace = first.By, first.Origin, first.Record, first.Trace
	for _, step := range steps[1:] {
		if step.Record != nil {
			merged.Others = append(merged.Others, *step.Record)
		}
	}
	return &merged
}

// Condense merges consecutive steps, at least one, and drops changes that cancel out (RFC 1995 §5). The result depends
// only on the content before and after.
func Condense(steps []Step) Step {
	type rrset struct {
		owner name.Rel
		t     rdata.Type
	}

	last := steps[len(steps)-1]
	out := Step{N: last.N, From: steps[0].From, Serial: last.Serial, State: last.State, Time: last.Time}
	// In rows, a value added and removed again has 0.
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
			ttls[k] = change // from the first step to this
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

// RecordRef identifies a Record whose write made a step.
type RecordRef struct {
	Namespace string `json:"ns"`
	Name      string `json:"n"`
	UID       string `json:"u"`
	// Was means that the Record was in the zone before the step, and Left that it no longer is after the step.
	Was  bool `json:"w,omitempty"`
	Left bool `json:"l,omitempty"`
	// Owner is the Record's name after the step, or before the step if Left.
	Owner name.Rel `json:"o,omitzero"`
}

// Origin is the cause of a step, for the history: a request or a background job.
type Origin struct {
	// Manager is the field manager of the request, and Audit its ID in the audit log.
	Manager string `json:"fm,omitempty"`
	Audit   string `json:"id,omitempty"`
	// Cause is the reason for a background job's step as text, or "" for a request. CausedBy is the namespace whose
	// change led to it.
	Cause    string `json:"why,omitempty"`
	CausedBy string `json:"wns,omitempty"`
}

// TTLChange is a change of an RRset's TTL. Before is nil for a new RRset, and After for a removed RRset.
type TTLChange struct {
	Owner  name.Rel   `json:"o"`
	Type   rdata.Type `json:"t"`
	Before *TTL       `json:"b,omitempty"`
	After  *TTL       `json:"a,omitempty"`
}

// Step is the change of a zone's content between two serials.
type Step struct {
	// N numbers the steps of a zone from 1, without gaps. A step condensed from several keeps the last N.
	N uint64 `json:"n"`
	// From is the serial before the step, or 0 if the step creates the zone. Serial is the serial after.
	From   serial.Serial `json:"f,omitzero"`
	Serial serial.Serial `json:"s"`
	State  sethash.State `json:"h,omitzero"` // hash of the content after
	// HeaderBefore and HeaderAfter are nil unless the step changes the SOA, default TTL or name servers. Only
	// HeaderAfter is set if the step creates the zone.
	HeaderBefore *Header `json:"hb,omitempty"`
	HeaderAfter  *Header `json:"ha,omitempty"`
	// Removed and Added are values of RRsets. A value is in at most one of the lists, and only once.
	Removed []Row       `json:"r,omitempty"`
	Added   []Row       `json:"a,omitempty"`
	TTLs    []TTLChange `json:"t,omitempty"`

	// The other fields are for the history. Others are further Records of the same change set. By is the user.
	Record *RecordRef  `json:"rec,omitempty"`
	Others []RecordRef `json:"recs,omitempty"`
	By     string      `json:"by,omitempty"`
	Origin
	// Trace is the W3C traceparent of the request, or "".
	Trace string `json:"tp,omitempty"`
	// Time is in Unix seconds.
	Time int64 `json:"at,omitempty"`
}

func (s Step) Creates() bool { return s.HeaderBefore == nil && s.HeaderAfter != nil }

// Raises reports whether the step changes only the serial.
func (s Step) Raises() bool {
	return s.HeaderAfter == nil && len(s.Removed)+len(s.Added)+len(s.TTLs) == 0
}

// Elements returns the elements to subtract from State and to add for this step.
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

// Identity is the immutable place and view of a Zone.
type Identity struct {
	View      string `json:"v,omitempty"`
	Namespace string `json:"ns"`
	Name      string `json:"n"`
}

// Transaction is an entry of the journal, the log that keeps the servers' zones in memory up to date. An entry holds a
// zone's steps of an etcd transaction or, without steps, marks the zone as settled or gone.
type Transaction struct {
	// After is set only in a mark: the N of the last step before the mark, or 0 for the newest. So a mark that is read
	// late does not settle later steps.
	After uint64 `json:"n,omitempty"`
	Steps []Step `json:"s,omitempty"`
	// Zone is set if the transaction creates the zone.
	Zone *Identity `json:"z,omitempty"`
	// Settled is true if name servers may get the content after the last step.
	Settled bool `json:"ok,omitempty"`
	// Gone is true if the zone ended or was deleted, with the details in Removal.
	Gone    bool     `json:"gone,omitempty"`
	Removal *Removal `json:"x,omitempty"`
}

// Removal records in the journal that a zone is gone: its object was deleted, or lost its name because no zone above
// delegated it.
type Removal struct {
	Identity
	FQDN   name.Name     `json:"f"`
	Serial serial.Serial `json:"s"`
	By     string        `json:"by,omitempty"`
	Origin
	// Time is in Unix seconds.
	Time int64 `json:"at"`
	// Retention is how long the history is kept, in seconds.
	Retention int64 `json:"k"`
	// State is the deleted Zone object, packed, for a restore. State is empty if the object still exists or no history
	// is kept.
	State []byte `json:"o,omitempty"`
}
