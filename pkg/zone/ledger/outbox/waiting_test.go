// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"testing"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/test/must"
)

// Two servers enqueue the trial of a name once. The trials of two names have different IDs, also where the view of one
// begins like the other's and its name goes on: otherwise the second name waits for a later round.
func TestTrialOf_hasAnIDOfItsViewAndName(t *testing.T) {
	ob := New(Config{Mem: facts.New(facts.Config{Now: time.Now})})
	trial := func(view, fqdn string) string {
		plan := &law.Plan{Record: &law.Placement{View: view, FQDN: must.Get(name.Parse(fqdn))(t), Zone: &law.Ref{}}}
		return ob.trialOf(&v1alpha1.Record{}, &law.Waiting{}, plan).ID
	}
	if trial("lab", "eu-www.example.org.") == trial("lab-eu", "www.example.org.") {
		t.Errorf("the views lab and lab-eu share the ID %s", trial("lab", "eu-www.example.org."))
	}
	if trial("", "www.example.org.") != trial("", "www.example.org.") {
		t.Error("a name has two IDs")
	}
}
