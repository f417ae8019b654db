// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// A controller's status write may report a secondary ahead of the zone (reason SerialBehind), with a serial ahead of
// the zone's, or a secondary with other data at the zone's serial (ContentDiffers), with exactly the next serial.
// reportsBehind recognises these reports, by which the zone's serial rises, and no others (S6.11).
func TestReportsBehind_S6_11(t *testing.T) {
	for what, test := range map[string]struct {
		reason         string
		status         metav1.ConditionStatus
		before, serial int64
		want           bool
	}{
		"a secondary is ahead":            {v1alpha1.ReasonSerialBehind, metav1.ConditionFalse, 100, 205, true},
		"a secondary is behind":           {v1alpha1.ReasonSerialBehind, metav1.ConditionFalse, 100, 99, false},
		"other data, the next serial":     {v1alpha1.ReasonContentDiffers, metav1.ConditionFalse, 100, 101, true},
		"other data, a later serial":      {v1alpha1.ReasonContentDiffers, metav1.ConditionFalse, 100, 102, false},
		"other data, the zone's serial":   {v1alpha1.ReasonContentDiffers, metav1.ConditionFalse, 100, 100, false},
		"other data, over the end":        {v1alpha1.ReasonContentDiffers, metav1.ConditionFalse, 1<<32 - 1, 1, true},
		"other data, and the zone has no": {v1alpha1.ReasonContentDiffers, metav1.ConditionFalse, 0, 1, false},
		"Ready":                           {v1alpha1.ReasonContentDiffers, metav1.ConditionTrue, 100, 101, false},
		"another reason":                  {"ServerError", metav1.ConditionFalse, 100, 101, false},
		"no serial":                       {v1alpha1.ReasonSerialBehind, metav1.ConditionFalse, 100, 1 << 33, false},
	} {
		ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: test.status, Reason: test.reason}
		written := &v1alpha1.ZoneStatus{Serial: test.serial, Conditions: []metav1.Condition{ready}}
		if got := reportsBehind(written, &v1alpha1.ZoneStatus{Serial: test.before}); got != test.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
