// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"time"

	"kubi.zone/kubizone/pkg/zone/law"
)

// endExpired makes the decision of a cascade about an expired record a deletion, if an update or a challenge made the
// record. It refuses a client's expiry in the past, and edits of a record that the next cascade deletes.
func (d *recordDecision) endExpired() *law.Refusal {
	r := d.ask.After
	switch {
	case r == nil || !r.IsExpired(d.ask.Now.Unix()):
	// 2026-01-01T00:00:00Z by mistake for 2027: the record would be gone when written.
	case d.ask.SetsExpiry:
		return law.NewInvalid("spec.expiresAt", formatTime(r.ExpiresAt), law.ReasonExpired,
			"is in the past, by the server's clock %s (S15.1; write a later time, or none)", formatTime(d.ask.Now.Unix()))
	case r.DeletedAtExpiry && d.ask.Cascade:
		d.ask.After = nil
	case r.DeletedAtExpiry:
		return law.NewLater(law.ReasonExpired, "the record has expired, and is deleted within seconds (S15.2; set a later "+
			"spec.expiresAt, or create it again then)")
	}
	return nil
}

// expiredPlace returns the place of an expired record, which no zone takes in. p has the name, as far as known.
func (d *recordDecision) expiredPlace(p *place) *place {
	return &place{fqdn: p.fqdn, view: p.view, reason: law.ReasonExpired, rule: "S15.1",
		message: fmt.Sprintf("spec.expiresAt %s has passed; set a later time or remove the field, or delete the record",
			formatTime(d.ask.After.ExpiresAt))}
}

// planDue adds the writes of the record's due key, which exists from the write until the record has expired or is gone.
func (d *recordDecision) planDue(plan *law.Plan) {
	ask, at := &d.ask, int64(0)
	if plan.Record != nil && plan.Record.Reason != law.ReasonExpired {
		at = ask.After.ExpiresAt
	}
	if at == ask.DueAt {
		return
	}
	if ask.DueAt != 0 {
		plan.Writes = append(plan.Writes, law.Write{Key: law.DueKey(ask.DueAt, ask.Namespace, ask.Name)})
	}
	if at != 0 {
		plan.Writes = append(plan.Writes, law.Write{Key: law.DueKey(at, ask.Namespace, ask.Name), Value: &law.Due{UID: ask.UID}})
	}
}

func formatTime(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }
