// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

// A Ready that is Unknown becomes Stalled after StallAfter if the reason needs a person, as with a paused class, but
// not if the class itself repeats the attempts (S7.4).
func TestStalls_ofReasonsThatWaitForAPerson_S7_4(t *testing.T) {
	for reason, want := range map[string]bool{
		v1alpha1.ReasonContentDiffers: true, v1alpha1.ReasonPaused: true, v1alpha1.ReasonClassPaused: true,
		v1alpha1.ReasonNoController: true, v1alpha1.ReasonNoPrimary: true, v1alpha1.ReasonNotifyFailing: true,
		v1alpha1.ReasonTLSFailing:  true,
		v1alpha1.ReasonAwaitsClass: false, v1alpha1.ReasonPending: false, string(delivery.ReasonServerUnreachable): false,
	} {
		for age, due := range map[time.Duration]bool{StallAfter - 10*time.Second: false, StallAfter + 10*time.Second: true} {
			waits := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: reason, ObservedGeneration: 1,
				LastTransitionTime: metav1.NewTime(time.Now().Add(-age))}
			got := new(Stalls).Judge(&metav1.ObjectMeta{UID: "u", Generation: 1}, []metav1.Condition{waits}, &waits, func(time.Duration) {})
			if (got != nil) != (want && due) {
				t.Errorf("%s for %s: %+v", reason, age, got)
			}
		}
	}
}
