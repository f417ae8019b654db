// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
)

// If another write withdraws more from a tenant while the cascade of an earlier write is pending, the grace period
// begins again. A second Record withdrawn by the same write does not begin the period again.
func TestWithdrawal_beginsAgainByExtendedWork_S3_6(t *testing.T) {
	zone := &law.Zone{Ref: law.Ref{Namespace: "owner", Name: "org", UID: "z"}}
	zone.Header.FQDN = name.MustParse("org.")
	work := law.Work{ID: "d", Since: 5}
	first := law.Withdrawal{Since: 100, Grace: 60, Passed: 40, Cause: work.Cause(), Records: zone.DigestRules("team", false)}
	for what, test := range map[string]struct {
		times int
		want  int64
	}{"the same write": {0, 40}, "a further write": {1, 0}} {
		work.Times = test.times
		seen := law.NewFacts()
		seen.Put(law.HoldingKey(zone.View, zone.FQDN()), &law.Holding{Ref: zone.Ref})
		seen.Put(law.WithdrawalKey(zone.UID, "team"), &first)
		var got *law.Withdrawal
		out := law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
			plan := &law.Plan{}
			got, _ = records.UpdateWithdrawal(r, plan, records.Withdrawn{Zone: zone, Namespace: "team", Begins: true, ByOwner: true, Grace: 60,
				Cause: work.Cause(), Now: time.Unix(140, 0)})
			return plan, nil
		})
		if got == nil || got.Passed != test.want {
			t.Errorf("%s: %+v, want %d s of the period passed; needs %v", what, got, test.want, out.Need)
		}
	}
}
