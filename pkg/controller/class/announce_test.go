// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"slices"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
)

// S8.2: that something may remain at a provider is told beside what else became of the attempt.
func TestAnnounce_tellsWhatRemains_S8_2(t *testing.T) {
	for _, row := range []struct {
		event delivery.Event
		want  []string
	}{
		{delivery.Event{Outcome: delivery.OutcomeDelivered}, nil},
		{delivery.Event{Outcome: delivery.OutcomeDelivered, Remains: name.MustParse("example.org.")}, []string{"Warning HistoryForgotten"}},
		{delivery.Event{Outcome: delivery.OutcomeWithdrawn, Absent: []name.Name{name.MustParse("example.org."), name.MustParse("example.net.")}}, []string{"Warning ZoneNotFound", "Warning ZoneNotFound"}},
		{delivery.Event{Outcome: delivery.OutcomeDelivered, Recovered: true, Remains: name.MustParse("example.org.")}, []string{"Warning HistoryForgotten", "Normal Delivered"}},
	} {
		told := &noted{}
		announcer{told}.announceDelivery(&v1alpha1.Zone{}, row.event)
		if !slices.Equal(told.all(), row.want) {
			t.Errorf("%+v: told %v, want %v", row.event, told.all(), row.want)
		}
	}
}
