// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
)

// Names may remain at a provider if the history that lists them is gone. An Event of the
// Delivery says so (S8.6).
func TestAnnounce_namesWhatRemains_S8_6(t *testing.T) {
	for _, row := range []struct {
		event delivery.Event
		want  string
	}{
		{delivery.Event{Outcome: delivery.OutcomeDelivered}, ""},
		{delivery.Event{Outcome: delivery.OutcomeDelivered, LeftoverZone: name.MustParse("example.org.")},
			"Delivery Warning HistoryForgotten: "},
		{delivery.Event{Outcome: delivery.OutcomeRemoved, AbsentZone: name.MustParse("example.org.")}, "Delivery Warning ZoneNotFound: "},
	} {
		reported := &recorder{}
		announcer{recorder: reported}.announceLeftovers(&v1alpha1.Zone{}, row.event)
		if all := strings.Join(reported.list, "\n"); !strings.HasPrefix(all, row.want) || len(reported.list) != min(len(row.want), 1) {
			t.Errorf("%+v: told %q, want %q", row.event, all, row.want)
		}
	}
}
