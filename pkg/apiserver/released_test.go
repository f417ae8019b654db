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

// S5.9: an Event has the rule of the condition, as much of it as an Event takes.
func TestReleased_isTold_S5_9(t *testing.T) {
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "r"}}
	recorder := events.NewFakeRecorder(1)
	a := announcer{recorder: recorder}
	record.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAdopted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonValidationFailed, Message: "a" + strings.Repeat("ü", maxNote)}}
	a.released(record)
	got := <-recorder.Events
	if text, ok := strings.CutPrefix(got, "Warning ValidationFailed a"); !ok || len(text) > maxNote || len(text) < maxNote-10 || !utf8.ValidString(text) {
		t.Errorf("%d octets: %.60s", len(got), got)
	}
	(&announcer{}).released(record) // standalone: to the log
}
