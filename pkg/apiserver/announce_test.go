// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// S7.5: an Event has what the condition says, as much of it as an Event takes.
func TestHeld_isTold_S7_5(t *testing.T) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "z"}}
	recorder := events.NewFakeRecorder(1)
	a := announcer{recorder: recorder}
	zone.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSettled, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonMassDeletion, Message: "a" + strings.Repeat("ü", maxNote)}}
	a.announceHeld(zone)
	got := <-recorder.Events
	if text, ok := strings.CutPrefix(got, "Warning MassDeletion a"); !ok || len(text) > maxNote || len(text) < maxNote-10 || !utf8.ValidString(text) {
		t.Errorf("%d octets: %.60s", len(got), got)
	}
	(&announcer{}).announceHeld(zone) // standalone: to the log
}
