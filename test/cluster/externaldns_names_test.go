// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

type sourceKind struct {
	kind     string
	resource schema.GroupVersionResource
	create   func(p *pair, namespace, name, host, address string)
	// move is a merge patch of the object or its status to another address.
	move        string
	subresource []string
}

var sourceKinds = []sourceKind{
	{"Service", schema.GroupVersionResource{Version: "v1", Resource: "services"}, (*pair).makeService,
		`{"status":{"loadBalancer":{"ingress":[{"ip":"ADDRESS"}]}}}`, []string{"status"}},
	{"Ingress", schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}, (*pair).makeIngress,
		`{"status":{"loadBalancer":{"ingress":[{"ip":"ADDRESS"}]}}}`, []string{"status"}},
	{"DNSEndpoint", dnsEndpointResource, func(p *pair, namespace, name, host, address string) {
		p.makeEndpoint(namespace, name, host, address, nil)
	}, `{"spec":{"endpoints":[{"dnsName":"HOST","recordType":"A","targets":["ADDRESS"]}]}}`, nil},
}

func (p *pair) moveObject(k sourceKind, namespace, name, host, address string) {
	p.t.Helper()
	body := strings.NewReplacer("HOST", host, "ADDRESS", address).Replace(k.move)
	must.Get(p.objects.Resource(k.resource).Namespace(namespace).Patch(p.t.Context(), name, types.MergePatchType, []byte(body),
		metav1.PatchOptions{}, k.subresource...))(p.t)
}

func (p *pair) deleteObject(k sourceKind, namespace, name string) {
	p.t.Helper()
	must.Succeed(p.t, p.objects.Resource(k.resource).Namespace(namespace).Delete(p.t.Context(), name, metav1.DeleteOptions{}))
}

// X5: the real external-dns joins objects of two namespaces with the same name, and names either object. The existing
// Record stays, follows its own object's address, and goes with that object (attacks: a Service, Ingress or
// DNSEndpoint of a namespace that sorts first, by a tenant without rights and by a tenant with a rule for all names;
// a DNSEndpoint with an invalid target).
func TestExternalDNS_holdsNames(t *testing.T) {
	c := requireRealParts(t)
	p := startPair(t, c, c.kube, "hold", syncNoop)
	dns, victim := p.makeNamespace("dns"), p.makeNamespace("victim")
	attackers := map[string]string{"ruled": p.makeNamespace("a-ruled"), "unruled": p.makeNamespace("a-unruled")}
	p.bindWriter(victim, attackers["ruled"])
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: dns, Name: "hold.example"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "hold.example.", NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
		Delegations: []v1alpha1.DelegationRule{{Namespaces: []string{victim, attackers["ruled"]},
			Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}}
	must.Get(p.records.KubizoneV1alpha1().Zones(dns).Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	t.Cleanup(func() { deleteZone(t, p.records, dns, zone.Name) })

	has := func(address string) string {
		var lines []string
		for _, k := range sourceKinds {
			for who := range attackers {
				lines = append(lines, strings.ToLower(k.kind)+"-"+who+".hold.example "+address)
			}
		}
		slices.Sort(lines)
		return strings.Join(lines, "; ")
	}
	all := func(do func(k sourceKind, attacker, name, host string)) {
		for _, k := range sourceKinds {
			for who, attacker := range attackers {
				name := strings.ToLower(k.kind) + "-" + who
				do(k, attacker, name, name+".hold.example")
			}
		}
	}
	all(func(k sourceKind, _, name, host string) { k.create(p, victim, name, host, "192.0.2.1") })
	p.waitForRecords(victim, has("192.0.2.1"))
	before := p.listVersions(victim)

	all(func(k sourceKind, attacker, name, host string) { k.create(p, attacker, name, host, "203.0.113.66") })
	all(func(k sourceKind, attacker, name, _ string) {
		p.waitForEvent(victim, k.kind, name, "an object of another namespace wants this name, too")
	})
	p.waitForEvent(attackers["unruled"], "Service", "service-unruled", "another object has this name")
	p.waitForRecords(victim, has("192.0.2.1"))

	all(func(k sourceKind, _, name, host string) { p.moveObject(k, victim, name, host, "192.0.2.9") })
	p.waitForRecords(victim, has("192.0.2.9"))
	for name, version := range p.listVersions(victim) {
		if before[name][:36] != version[:36] {
			t.Errorf("%s was removed and made anew", name)
		}
	}

	// An invalid target of a DNSEndpoint makes external-dns drop the name for both.
	crd := sourceKinds[2]
	for who, attacker := range attackers {
		p.moveObject(crd, attacker, "dnsendpoint-"+who, "dnsendpoint-"+who+".hold.example", "nonsense")
		p.waitForEvent(victim, crd.kind, "dnsendpoint-"+who, "external-dns leaves this object out")
	}
	p.waitForLines(3, inOrder)
	p.waitForRecords(victim, has("192.0.2.9"))
	for who, attacker := range attackers {
		p.moveObject(crd, attacker, "dnsendpoint-"+who, "dnsendpoint-"+who+".hold.example", "203.0.113.66")
	}
	for _, attacker := range attackers {
		p.waitForRecords(attacker, "")
	}

	all(func(k sourceKind, _, name, _ string) { p.deleteObject(k, victim, name) })
	p.waitForRecords(victim, "")
	p.waitForRecords(attackers["ruled"], "dnsendpoint-ruled.hold.example 203.0.113.66; ingress-ruled.hold.example 203.0.113.66; "+
		"service-ruled.hold.example 203.0.113.66")
	p.waitForRecords(attackers["unruled"], "")
}
