// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
)

// noted keeps Events as "kind reason".
type noted struct {
	mu       sync.Mutex
	messages []string
}

func (n *noted) Eventf(_, _ runtime.Object, kind, reason, _, _ string, _ ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.messages = append(n.messages, kind+" "+reason)
}

func (n *noted) listLines() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.messages)
}

// Names may remain at a provider if the history that lists them is gone. They get an Event of their own, besides the
// Event about the delivery (S8.6).
func TestAnnounce_namesWhatRemains_S8_6(t *testing.T) {
	for _, row := range []struct {
		event delivery.Event
		want  []string
	}{
		{delivery.Event{Outcome: delivery.OutcomeDelivered}, nil},
		{delivery.Event{Outcome: delivery.OutcomeDelivered, LeftoverZone: name.MustParse("example.org.")},
			[]string{"Warning HistoryForgotten"}},
		{delivery.Event{Outcome: delivery.OutcomeRemoved, AbsentZone: name.MustParse("example.org.")}, []string{"Warning ZoneNotFound"}},
		{delivery.Event{Outcome: delivery.OutcomeDelivered, Recovered: true, LeftoverZone: name.MustParse("example.org.")}, []string{"Warning HistoryForgotten", "Normal Delivered"}},
	} {
		reported := &noted{}
		announcer{EventRecorder: reported}.announceDelivery(&v1alpha1.Zone{}, row.event)
		if !slices.Equal(reported.listLines(), row.want) {
			t.Errorf("%+v: told %v, want %v", row.event, reported.listLines(), row.want)
		}
	}
}

// TestAnnounce_fitsTheNote: Kubernetes limits a note to 1,024 octets.
func TestAnnounce_fitsTheNote(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	failed := delivery.Event{First: true, Key: delivery.Key{Class: "public"}}
	failed.State.Error = &delivery.StateError{Reason: delivery.ReasonValidationFailed, Message: strings.Repeat("refused, ", 200)}
	announcer{EventRecorder: recorder}.announceDelivery(&v1alpha1.Zone{}, failed)
	note, found := strings.CutPrefix(<-recorder.Events, "Warning ValidationFailed ")
	if !found || len(note) > 1024 || len(note) < 1000 {
		t.Errorf("%d octets: %.100s", len(note), note)
	}

	const last = "; last change: by carol at noon"
	a := announcer{EventRecorder: recorder, looking: make(chan struct{}, 1), lastChange: func(context.Context, *v1alpha1.Zone) string {
		return last
	}}
	a.announceDelivery(&v1alpha1.Zone{}, failed)
	note, found = strings.CutPrefix(<-recorder.Events, "Warning ValidationFailed ")
	if !found || len(note) > 1024 || !strings.Contains(note, "refused") || !strings.HasSuffix(note, last) {
		t.Errorf("%d octets with the last change: %s", len(note), note)
	}
}
