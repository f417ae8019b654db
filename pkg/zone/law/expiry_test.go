// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/test/must"
)

// expiryWorld has a delivered zone of own, at most limit Records of a namespace, and a rule for all names of tenant.
func expiryWorld(t *testing.T, limit int64) *world {
	t.Helper()
	w := newWorld()
	spec := zones.ZoneSpec{Ref: law.Ref{Namespace: "own", Name: "org"}, DomainName: "org.", Header: someHeader}
	spec.MaxDeletePercent, spec.RecordsPerNamespace, spec.HasClass = 30, limit, true
	for _, namespace := range []string{"own", "tenant"} {
		p := parsePattern(t, "*")
		spec.Rules = append(spec.Rules, rules.Rule{Namespaces: []string{namespace}, Records: []rules.RecordRule{{Pattern: p, Text: "*"}}})
	}
	if _, refusal := w.putZone(spec, true); refusal != nil {
		t.Fatal(refusal)
	}
	w.settleAll()
	return w
}

func (w *world) putExpiring(t *testing.T, namespace, name string, d time.Duration) *law.Refusal {
	t.Helper()
	r := law.Record{Namespace: namespace, Name: name, DomainName: name + ".org.", Type: rdata.A,
		Values: []rdata.Value{must.Get(rdata.Parse(rdata.A, "192.0.2.1"))(t)}, ExpiresAt: w.now.Add(d).Unix()}
	_, refusal := w.putRecord(r)
	return refusal
}

func (w *world) zoneOrg() *zoneObject { return w.zones[object{"own", "org"}] }

// Attack 132. The owner's own expiries hold the zone, as its deletions would.
func TestExpiry_ofATenantHoldsNoZone_S15_4(t *testing.T) {
	for namespace, holds := range map[string]bool{"own": true, "tenant": false} {
		w := expiryWorld(t, 0)
		for i := range 20 {
			if refusal := w.putExpiring(t, namespace, fmt.Sprint("r", i), time.Hour); refusal != nil {
				t.Fatal(refusal)
			}
		}
		w.now = w.now.Add(2 * time.Hour)
		w.settleAll()
		if z := w.zoneOrg(); z.zone.RRsets != 0 || (w.holdingOf(z.zone).Held != nil) != holds {
			t.Errorf("%s: %d RRsets, held %v", namespace, z.zone.RRsets, w.holdingOf(z.zone).Held != nil)
		}
		for _, line := range w.checkAll() {
			t.Error(line)
		}
	}
}

// Attack 133.
func TestExpiry_dodgesNoLimit_S15_1(t *testing.T) {
	w := expiryWorld(t, 5)
	for round := range 3 {
		for i := range 5 {
			if refusal := w.putExpiring(t, "tenant", fmt.Sprint("r", round, "-", i), time.Hour); refusal != nil {
				t.Fatal(refusal)
			}
		}
		if refusal := w.putExpiring(t, "tenant", "more", time.Hour); refusal == nil || refusal.Reason != law.ReasonLimitExceeded {
			t.Errorf("a sixth Record: %v", refusal)
		}
		w.now = w.now.Add(2 * time.Hour)
		w.settleAll()
	}
	refused := 0
	for round := range 3 {
		for i := range 5 {
			if w.putExpiring(t, "tenant", fmt.Sprint("r", round, "-", i), time.Hour) != nil {
				refused++
			}
		}
	}
	if refused != 10 {
		t.Errorf("of 15 expired Records %d are refused, want 10", refused)
	}
	for _, line := range w.checkAll() {
		t.Error(line)
	}
}
