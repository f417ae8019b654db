// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/externaldns/contract"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// E3, E4: of 40 namespaces, one has as many refused endpoints as all others have valid endpoints. Every request is
// answered in time, all valid endpoints are written within a few cycles, and a cycle without changes writes nothing.
func TestExternalDNS_ofMany(t *testing.T) {
	t.Parallel()
	b := runBridge(t)
	const tenants = 40
	count := 400
	if rig.Long() {
		count = 10_000
	}
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "many"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "many.example.", NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}}}
	for i := range tenants {
		zone.Spec.Delegations = append(zone.Spec.Delegations, v1alpha1.DelegationRule{Namespace: fmt.Sprintf("tenant-%d", i),
			Records: []v1alpha1.RecordDelegation{{Pattern: fmt.Sprintf("t%d", i)}, {Pattern: fmt.Sprintf("*.t%d", i)}}})
	}
	must.Get(b.client.KubizoneV1alpha1().Zones("dns").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	var endpoints []*contract.Endpoint
	for i := range count {
		endpoints = append(endpoints, &contract.Endpoint{DNSName: fmt.Sprintf("h%d.t%d.many.example", i, i%tenants), RecordType: "A",
			Targets: []string{"192.0.2.1"}, Labels: map[string]string{"resource": fmt.Sprintf("ingress/tenant-%d/h%d", i%tenants, i)}})
	}
	for i := range count / 20 {
		endpoints = append(endpoints, &contract.Endpoint{DNSName: fmt.Sprintf("r%d.t1.many.example", i), RecordType: "A",
			Targets: []string{"192.0.2.1"}, Labels: map[string]string{"resource": fmt.Sprintf("ingress/tenant-0/r%d", i)}})
	}
	began, longest := time.Now(), time.Duration(0)
	cycles, existing := 0, 0
	for existing < count {
		if time.Since(began) > waitTimeout {
			t.Fatalf("%d of %d stand after %s", existing, count, time.Since(began))
		}
		// Either request may answer that work continues.
		for _, request := range []func() int{
			func() int { code, _ := b.sendRequest("GET", "/records", contract.MediaType, nil); return code },
			func() int { return b.tryCycle(endpoints) },
		} {
			asked := time.Now()
			if code := request(); code != 200 && code != 204 && code != 500 && code != 503 && code != 0 {
				t.Fatal(code)
			}
			longest = max(longest, time.Since(asked))
		}
		cycles++
		existing = len(must.Get(b.client.KubizoneV1alpha1().Records("").List(t.Context(), metav1.ListOptions{}))(t).Items)
	}
	first := time.Since(began)
	for b.tryCycle(endpoints) != 0 { // the last cycle may still be running
		if time.Since(began) > waitTimeout {
			t.Fatal("changes do not end")
		}
	}
	before := b.versionsOf()
	b.spent = nil
	for range 3 {
		if code := b.runCycle(endpoints...); code != 0 {
			t.Errorf("a cycle without changes writes: %d", code)
		}
	}
	t.Logf("%d endpoints: all stand after %s and %d cycles; requests of three cycles without changes take %s", count, first,
		cycles, b.spent)
	if after := b.versionsOf(); !maps.Equal(before, after) || len(after) != count {
		t.Errorf("%d Records, or others than before", len(after))
	}
	if longest > 3*10*time.Second { // of three requests
		t.Errorf("a request is answered after %s", longest)
	}
}

// tryCycle returns the code of the first failed request, or of the changes; 0 without changes.
func (b *bridge) tryCycle(endpoints []*contract.Endpoint) int {
	b.t.Helper()
	var lists [2][]*contract.Endpoint
	for i, path := range []string{"/records", "/adjustendpoints"} {
		method, body := "GET", any(nil)
		if i == 1 {
			method, body = "POST", endpoints
		}
		code, answer := b.sendRequest(method, path, contract.MediaType, body)
		if code != 200 {
			return code
		}
		lists[i] = readAll(b.t, answer)
	}
	changes := planChanges(lists[0], lists[1])
	if len(changes.Create)+len(changes.UpdateNew)+len(changes.Delete) == 0 {
		return 0
	}
	code, _ := b.sendRequest("POST", "/records", contract.MediaType, changes)
	return code
}
