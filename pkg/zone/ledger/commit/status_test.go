// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
)

// An API error of the ledger has each refusal's rule, such as S4.8, as a value among its causes, so programs need not
// parse the text. This cause adds no line to kubectl's output, because kubectl prints causes with equal field and
// message once.
func TestStatus_namesTheRule(t *testing.T) {
	for _, test := range []struct {
		refused *law.Refusal
		code    int32
		rule    string
	}{
		{law.NewForbidden(law.ReasonNameHeld, "%s is held (S4.8; have rules of the zone, S4.1)", "www (S1.1)"), 403, "S4.8"},
		{law.NewForbidden(law.ReasonNameHeld, "%s is held", "www (S1.1)"), 403, ""},
		{law.NewInvalid("spec.values", "x", law.ReasonInvalid, "it is none (S5.11, RFC 1123 §2.1)"), 422, "S5.11"},
		{&law.Refusal{Kind: law.Duplicate, Field: "spec.domainName", Rule: "S1.5", Message: "it exists already (S1.5)"}, 422, "S1.5"},
		{law.NewLater("", "it moves (S2.10; try again)"), 429, "S2.10"},
		{&law.Refusal{Kind: law.Unmet, Field: "spec.prerequisites[2]", Rule: "S10.5", Message: "it is not so (S10.5)"}, 412, "S10.5"},
	} {
		err := commit.Status("records", "www", test.refused)
		all := refusal.Of(err)
		if status := err.(apierrors.APIStatus).Status(); len(all) != 1 || all[0].Rule != test.rule || status.Code != test.code {
			t.Errorf("%s: %d with %+v, want %d by %q", test.refused.Message, status.Code, all, test.code, test.rule)
		}
		lines := map[string]bool{}
		if details := err.(apierrors.APIStatus).Status().Details; details != nil {
			for _, cause := range details.Causes {
				lines[cause.Field+": "+cause.Message] = true
			}
		}
		if len(lines) > 1 {
			t.Errorf("%s: kubectl prints %d lines: %v", test.refused.Message, len(lines), lines)
		}
	}
}

func TestStatus_namesTheKind(t *testing.T) {
	for resource, kind := range map[string]string{"zones": "Zone", "records": "Record", "delegations": "Delegation"} {
		for _, refused := range []*law.Refusal{{Kind: law.Invalid, Field: "spec"}, {Kind: law.Duplicate, Field: "spec"}} {
			if got := commit.Status(resource, "x", refused).(apierrors.APIStatus).Status().Details.Kind; got != kind {
				t.Errorf("%s: kind %s", resource, got)
			}
		}
	}
}
