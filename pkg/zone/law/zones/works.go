// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
)

// DecideUnlock lets clients write again at the names that a cascade (background job) has locked in a zone while records
// moved between zones. Plan.Zone is nil if the lock or the zone is gone.
func DecideUnlock(seen *law.Facts, place law.Place, id string) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		plan := &law.Plan{}
		z, h := r.ZoneAt(place)
		if z == nil || !slices.ContainsFunc(h.Works, func(w law.CascadeMark) bool { return w.ID == id && !w.Locks.IsZero() }) {
			return plan, nil
		}
		changeMarks(plan, z, h, id, func(w *law.CascadeMark) { w.Locks = name.Name{} })
		return plan, nil
	})
}

// DecideDelegationsDone notes that a cascade (background job) has decided the Delegations that waited for a new zone.
// Until then, patterns with "*" give tenants no name, because a Delegation may reserve the name. Plan.Zone is nil if
// this is already noted.
func DecideDelegationsDone(seen *law.Facts, place law.Place, id string) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		plan := &law.Plan{}
		z, h := r.ZoneAt(place)
		if z == nil || !slices.ContainsFunc(h.Works, func(w law.CascadeMark) bool { return w.ID == id && w.TakesIn }) {
			return plan, nil
		}
		changeMarks(plan, z, h, id, func(w *law.CascadeMark) { w.TakesIn = false })
		return plan, nil
	})
}

func changeMarks(plan *law.Plan, z *law.Zone, h *law.Holding, id string, change func(*law.CascadeMark)) {
	after := *h
	after.Works = slices.Clone(h.Works)
	for i := range after.Works {
		if after.Works[i].ID == id {
			change(&after.Works[i])
		}
	}
	plan.Zone = &law.ZoneChange{Zone: z, Holding: &after}
	plan.Writes = []law.Write{{Key: law.HoldingKey(z.View, z.FQDN()), Value: &after}}
}

// DecideElapsed adds elapsed seconds to a withdrawal, the grace period of a namespace's records that a zone's rules no
// longer allow. At its end, the plan releases them. The plan is empty if the stored withdrawal has changed since it was
// counted.
func DecideElapsed(seen *law.Facts, place law.Place, namespace string, counted law.Withdrawal, elapsed int64, workID string,
	now int64) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		plan := &law.Plan{}
		key := law.WithdrawalKey(place.UID, namespace)
		withdrawal := law.Get[law.Withdrawal](r, key)
		z, _ := r.ZoneAt(place)
		if withdrawal == nil || *withdrawal != counted || z == nil {
			return plan, nil
		}
		next := *withdrawal
		next.Passed = min(next.Grace, next.Passed+elapsed)
		plan.Writes = []law.Write{{Key: key, Value: &next}}
		if next.IsOver() {
			plan.Work = records.ReleaseWork(z, []string{namespace}, workID, now)
		}
		return plan, nil
	})
}

// DecideReleaseDone removes the first MaxReleases withdrawals of a finished release, unless they have begun again.
func DecideReleaseDone(seen *law.Facts, work *law.Work) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		plan := &law.Plan{}
		var keys []law.Key
		for _, ns := range work.Releases[:min(len(work.Releases), records.MaxReleases)] {
			keys = append(keys, law.WithdrawalKey(work.Releasing, ns))
		}
		r.RequireAll(keys)
		for _, key := range keys {
			if w := law.Get[law.Withdrawal](r, key); w != nil && w.IsOver() {
				plan.Writes = append(plan.Writes, law.Write{Key: key})
			}
		}
		return plan, nil
	})
}

// DecideEndingDone is the last step of a child zone's end. No rule delegated the zone any more, so the zone lost its
// name, and its keys are purged. The plan clears Ending, so that a rule may delegate the zone again.
func DecideEndingDone(seen *law.Facts, work *law.Work, now int64) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		plan := &law.Plan{}
		place := work.Ended
		z := law.Get[law.Zone](r, law.ZoneKey(place.Namespace, place.Name))
		last := law.Get[law.LastSerial](r, law.LastSerialKey(place.View, place.FQDN))
		isDeleted := z == nil || z.UID != place.UID
		if isDeleted {
			return plan, nil
		}
		isEnding := z.Pending && z.Ending
		if !isEnding { // another server was faster
			return plan, nil
		}

		after := *z
		after.Ending = false
		plan.Zone = &law.ZoneChange{Zone: &after}
		isOrigin := last != nil && slices.ContainsFunc(last.From, func(o law.Origin) bool { return o.Zone == z.UID })
		if isOrigin { // no records are left to take over
			kept := *last
			kept.From = nil
			plan.Writes = []law.Write{{Key: law.LastSerialKey(place.View, place.FQDN), Value: &kept}}
		}

		// Decide the zones waiting for ZoneRef, or the objects waiting for the name.
		scan := law.Scan{Kind: law.ScanPending, Target: z.ZoneRef}
		if z.ZoneRef == nil {
			scan = law.Scan{Kind: law.ScanWaiting, View: z.View, Name: z.WantedName, Exact: true}
		}
		plan.Work = &law.Work{ID: work.ID + "-after", Reason: fmt.Sprintf("the records of zone %s are released", place.FQDN),
			View: place.View, By: work.By,
			Since: now, Scans: []law.Scan{scan}}
		return plan, nil
	})
}

// DecideCascadeDone removes the mark of a finished cascade (a change of many records in steps) from a zone. The mark
// has delayed delivery to name servers. Plan.Zone is nil if the mark is gone.
func DecideCascadeDone(seen *law.Facts, place law.Place, id string) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		plan := &law.Plan{}
		z, h := r.ZoneAt(place)
		if z == nil || !slices.ContainsFunc(h.Works, func(w law.CascadeMark) bool { return w.ID == id }) {
			return plan, nil
		}
		after := h.WithoutWork(id)
		plan.Zone = &law.ZoneChange{Zone: z, Holding: after}
		plan.Writes = []law.Write{{Key: law.HoldingKey(z.View, z.FQDN()), Value: after}}
		return plan, nil
	})
}

// DecideOverdue resumes delivery of a zone if unfinished cascades have delayed it for too long (BecomesOverdue). For
// law.Waiver seconds, cascades of other namespaces then delay no delivery. Plan.Zone is nil if the zone is not overdue.
func DecideOverdue(seen *law.Facts, place law.Place, now int64) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		plan := &law.Plan{}
		z, h := r.ZoneAt(place)
		if z == nil || !h.BecomesOverdue(now) {
			return plan, nil
		}
		after := *h
		after.Overdue = true
		if !h.IsWaived(now) {
			after.Waived = now + law.Waiver
		}
		plan.Zone = &law.ZoneChange{Zone: z, Holding: &after}
		plan.Writes = []law.Write{{Key: law.HoldingKey(z.View, z.FQDN()), Value: &after}}
		return plan, nil
	})
}
