// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"time"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
)

func stepOf(z, set *law.Zone) uint64 {
	if set != nil && z.N > set.N {
		return z.N
	}
	return z.N + 1
}

// AdvanceZone sets change to the zone after a write: the next serial, content state (a hash), and a journal step with
// the rows of df. set is the zone before the change set (Records written together), or nil.
func AdvanceZone(change *law.ZoneChange, z, set *law.Zone, df *Diff, now time.Time, record *content.RecordRef, by string) *law.Refusal {
	state, err := df.applyTo(sethash.State(z.State))
	if err != nil {
		return law.NewInvalid("status.contentState", nil, law.ReasonInvalid, "zone %s: %v; run kubizone fsck", z.FQDN(), err)
	}
	n, from, next, used := stepOf(z, set), z.Serial, z.Serial, false
	if n == z.N { // a later write of the set: the first has raised the serial
		from = set.Serial
	} else {
		next, used = law.NextSerial(z.Serial, now, z.MinimumSerial, change.Holding.MinimumConsumed)
	}

	if used { // a minimum has effect once
		h := *change.Holding
		m := *z.MinimumSerial
		h.MinimumConsumed = &m
		change.Holding = &h
	}

	after := *z
	after.Serial, after.State, after.Rows, after.RRsets, after.N = next, state, z.Rows+len(df.added)-len(df.removed),
		z.RRsets+df.rrsetGrowth(), n
	change.Zone = &after
	change.Step = &content.Step{N: n, From: from, Serial: next, State: state, Removed: df.removed, Added: df.added, TTLs: df.ttls,
		Record: record, By: by, Time: now.Unix()}
	return nil
}
