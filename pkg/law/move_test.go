// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"testing"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
)

// The places kept in a zone stand in its holding, which all servers remember: a
// tenant with moves that hang has 64 of them and no more, and they all end.
func TestMove_atMost64OnTheWay_S2_6(t *testing.T) {
	w := newWorld()
	for i, fqdn := range []string{"example.org.", "example.net."} {
		spec := law.ZoneSpec{Ref: law.Ref{Namespace: "owner", Name: fmt.Sprintf("z%d", i)}, DomainName: fqdn, ZoneSettings: settings(generous(), 0, 0)}
		if _, refusal := w.putZone(spec, true); refusal != nil {
			t.Fatal(refusal)
		}
	}
	v, err := rdata.Parse(rdata.A, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	w.quick = true
	put := func(i int, zone string) *law.Refusal {
		r := law.Record{Namespace: "a", Name: fmt.Sprintf("r%d", i), DomainName: fmt.Sprintf("r%d.%s", i, zone), Type: rdata.A, Values: []rdata.Value{v}}
		_, refusal := w.putRecord(r)
		return refusal
	}
	for i := range 65 {
		if refusal := put(i, "example.org."); refusal != nil {
			t.Fatal(refusal)
		}
	}
	w.halfway = true
	for i := range 64 {
		if refusal := put(i, "example.net."); refusal != nil {
			t.Fatalf("move %d: %v", i, refusal)
		}
	}
	if refusal := put(64, "example.net."); refusal == nil || refusal.Kind != law.Forbidden {
		t.Errorf("the 65th: %v, want 403", refusal)
	}
	w.settle()
	w.halfway = false
	if refusal := put(64, "example.net."); refusal != nil {
		t.Errorf("when they have arrived: %v", refusal)
	}
	for _, line := range append(w.check(), w.checkSettled()...) {
		t.Error(line)
	}
}
