// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
)

// noted keeps Events as "object kind reason".
type noted struct {
	mu       sync.Mutex
	messages []string
}

func (n *noted) Eventf(about, _ runtime.Object, kind, reason, _, _ string, _ ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.messages = append(n.messages, about.(*corev1.ObjectReference).Kind+" "+kind+" "+reason)
}

func (n *noted) listLines() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.messages)
}

// Names may remain at a provider if the history that lists them is gone. An Event of the
// Delivery says so (S8.6).
func TestAnnounce_namesWhatRemains_S8_6(t *testing.T) {
	for _, row := range []struct {
		event delivery.Event
		want  []string
	}{
		{delivery.Event{Outcome: delivery.OutcomeDelivered}, nil},
		{delivery.Event{Outcome: delivery.OutcomeDelivered, LeftoverZone: name.MustParse("example.org.")},
			[]string{"Delivery Warning HistoryForgotten"}},
		{delivery.Event{Outcome: delivery.OutcomeRemoved, AbsentZone: name.MustParse("example.org.")}, []string{"Delivery Warning ZoneNotFound"}},
	} {
		reported := &noted{}
		announcer{recorder: reported}.announceLeftovers(&v1alpha1.Zone{}, row.event)
		if !slices.Equal(reported.listLines(), row.want) {
			t.Errorf("%+v: told %v, want %v", row.event, reported.listLines(), row.want)
		}
	}
}
