// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

func TestDNSSEC_hasTheNextStepAndItsDate(t *testing.T) {
	ds := []v1alpha1.DelegationSigner{{KeyTag: 7}}
	for _, one := range []struct {
		phase   v1alpha1.DNSSECPhase
		message string
		ds      []v1alpha1.DelegationSigner
		trusted bool
		want    string
	}{
		{v1alpha1.DNSSECSigning, "the signer makes the zone", nil, false, "the signer signs the zone; servers still have it unsigned"},
		{v1alpha1.DNSSECSigned, "answers without signatures leave the caches, until 2026-11-28T02:22:14Z", nil, false,
			"the DS records come when answers without signatures have left the caches (S12.6) at 2026-11-28 02:22:14 UTC"},
		{v1alpha1.DNSSECSigned, "waiting", ds, false, "the parent takes the DS records"},
		{v1alpha1.DNSSECSigned, "KeysLost: restore the claim", ds, true, "that of the signatures above"},
		{v1alpha1.DNSSECSigned, "", ds, true, "none: keys roll over by themselves"},
		{v1alpha1.DNSSECExpiring, "the DS leaves the caches, until soon", nil, false, "the DS records expire in resolvers"},
	} {
		of := &v1alpha1.ZoneDNSSECStatus{Phase: one.phase, Message: one.message, DS: one.ds}
		zone := &v1alpha1.Zone{Status: v1alpha1.ZoneStatus{DNSSEC: of}}
		p := &zonePage{Tab: "dnssec", Zone: zone, Row: zoneRowOf(zone), DNSSEC: &dnssecPart{Next: nextOf(of, one.trusted),
			Date: untilOf(of.Message)}}
		s := newSite(&reading{}, newDoor("127.0.0.1:1", "", func(string, ...any) {}))
		for _, v := range s.views {
			if v.path == "/zones/{namespace}/{name}/dnssec" {
				page := string(must.Get(render(v.page, "part", &shown{Data: p}))(t))
				_, step, _ := strings.Cut(strings.Join(strings.Fields(page), " "), "<b>Next step</b> ")
				step = strings.ReplaceAll(step, `<span class="quiet">`, "")
				if !strings.HasPrefix(step, one.want) || strings.Contains(step, " UTC") != strings.Contains(one.want, " UTC") {
					t.Errorf("%s: %.300s, want %q", one.phase, step, one.want)
				}
			}
		}
	}
}
