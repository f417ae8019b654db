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

// Condense merges consecutive steps, at least one, and drops changes that cancel out (RFC 1995 §5). The result depends
// only on the content before and after.
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

// RecordRef names a Record that made a step.
type RecordRef struct {
	Namespace string `json:"ns"`
	Name      string `json:"n"`
	UID       string `json:"u"`
	// Was means in the zone before the step, Left no longer after.
	Was  bool `json:"w,omitempty"`
	Left bool `json:"l,omitempty"`
}

// Origin is the source of a step. (law.Origin is a removed zone.)
type Origin struct {
	// Manager is the field manager, Audit the ID of the request in the audit log.
	Manager string `json:"fm,omitempty"`
	Audit   string `json:"id,omitempty"`
	// Cause is the reason of a step without a request, CausedBy the namespace that caused it.
	Cause    string `json:"why,omitempty"`
	CausedBy string `json:"wns,omitempty"`
}

// TTLChange is a change of an RRset's TTL. Before is nil for a new RRset, After for a removed one.
type TTLChange struct {
	Owner  name.Rel   `json:"o"`
	Type   rdata.Type `json:"t"`
	Before *TTL       `json:"b,omitempty"`
	After  *TTL       `json:"a,omitempty"`
}

// Step is the change between the definitions at two serials (I3). It can be applied and undone.
type Step struct {
	// N numbers a zone's steps from 1, without gaps. A condensed step has the last N.
	N uint64 `json:"n"`
	// From is the serial before the step; 0 if the step creates the zone.
	From   serial.Serial `json:"f,omitzero"`
	Serial serial.Serial `json:"s"`
	State  sethash.State `json:"h,omitzero"`
	// HeaderBefore and HeaderAfter are set if the header changed; HeaderBefore is nil if the step creates the zone.
	HeaderBefore *Header `json:"hb,omitempty"`
	HeaderAfter  *Header `json:"ha,omitempty"`
	// No row is in both lists, or twice.
	Removed []Row       `json:"r,omitempty"`
	Added   []Row       `json:"a,omitempty"`
	TTLs    []TTLChange `json:"t,omitempty"`
	// Record and By, the user, made the step; Others are further Records of a change set. None is part of the
	// definition.
	Record *RecordRef  `json:"rec,omitempty"`
	Others []RecordRef `json:"recs,omitempty"`
	By     string      `json:"by,omitempty"`
	Origin
	// Trace is the traceparent of the span behind the step, or "".
	Trace string `json:"tp,omitempty"`
	// Time is in unix seconds.
	Time int64 `json:"at,omitempty"`
}

func (s Step) Creates() bool { return s.HeaderBefore == nil && s.HeaderAfter != nil }

// Raises reports whether the step changes the serial alone (S6.11).
func (s Step) Raises() bool {
	return s.HeaderAfter == nil && len(s.Removed)+len(s.Added)+len(s.TTLs) == 0
}

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

// Transaction is the value of a journal key. Without steps it marks a zone as settled or gone.
type Transaction struct {
	// After is set only without steps: the N of the last step before the mark, 0 for the newest. So a mark applied late
	// settles no later content.
	After uint64 `json:"n,omitempty"`
	Steps []Step `json:"s,omitempty"`
	// Zone is set in the transaction that creates the zone.
	Zone *Identity `json:"z,omitempty"`
	// Settled is true if the definition after the last step may be delivered (S7.2).
	Settled bool     `json:"ok,omitempty"`
	Gone    bool     `json:"gone,omitempty"`
	Removal *Removal `json:"x,omitempty"`
}

// Removal is the end of a zone: its object was deleted, or lost its name (S3.7).
type Removal struct {
	Identity
	FQDN   name.Name     `json:"f"`
	Serial serial.Serial `json:"s"`
	By     string        `json:"by,omitempty"`
	Origin
	Time int64 `json:"at"`
	// Retention is the zone's historyRetention in seconds.
	Retention int64 `json:"k"`
	// State is the packed state of the deleted object; empty if the object stays.
	State []byte `json:"o,omitempty"`
}
