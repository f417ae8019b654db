// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"time"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
)

func stepOf(z, set *law.Zone) uint64 {
	if set != nil && z.N > set.N {
		return z.N
	}
	return z.N + 1
}

// AdvanceZone puts the results of a write into change: the next serial, the content state (a hash), and a journal step
// with the rows of diff. The zone beforeSet is the zone before the change set (Records written together), or nil
// without a set.
func AdvanceZone(change *law.ZoneChange, before, beforeSet *law.Zone, diff *Diff, now time.Time, record *content.RecordRef,
	user string) *law.Refusal {
	// Only a damaged store gives an error here.
	state, err := diff.applyTo(sethash.State(before.State))
	if err != nil {
		return law.NewInvalid("status.contentState", nil, law.ReasonInvalid, "zone %s: %v; run kubizone fsck", before.FQDN(), err)
	}
	n, fromSerial, next, usedMinimum := stepOf(before, beforeSet), before.Serial, before.Serial, false
	if n == before.N { // a later write of the set: the first has raised the serial
		fromSerial = beforeSet.Serial
	} else {
		next, usedMinimum = law.NextSerial(before.Serial, now, before.MinimumSerial, change.Holding.MinimumConsumed)
	}

	if usedMinimum { // a minimum has effect once
		h := *change.Holding
		minimum := *before.MinimumSerial
		h.MinimumConsumed = &minimum
		change.Holding = &h
	}

	after := *before
	after.Changed = before.NextTime(now)
	after.Serial, after.State, after.Rows, after.RRsets, after.N = next, state, before.Rows+len(diff.added)-len(diff.removed),
		before.RRsets+diff.rrsetGrowth(), n
	change.Zone = &after
	change.Step = &content.Step{N: n, From: fromSerial, Serial: next, State: state, Removed: diff.removed, Added: diff.added,
		TTLs: diff.ttls, Record: record, By: user, Time: after.Changed}
	return nil
}
