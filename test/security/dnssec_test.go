// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"testing"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// 84: S6.16, S6.16, S12.2. A zone's DS are decided by its owner, by ds, and by the controller, which reports the
// keys: not by the tenant below, with any Role in that namespace.
func keysAbove(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	them, owner := a.tenants[mallory], a.tenants[platform]
	must.Get(owner.zones().Create(ctx, makeZone(platform, "above", "above.example.",
		v1alpha1.DelegationRule{Namespace: mallory, Zones: []string{"plain"}},
		v1alpha1.DelegationRule{Namespace: victim, Zones: []string{"keyed"}, DS: true}), metav1.CreateOptions{}))(t)
	must.Get(them.zones().Create(ctx, makeZone(mallory, "plain", "plain.above.example."), metav1.CreateOptions{}))(t)
	must.Get(a.tenants[victim].zones().Create(ctx, makeZone(victim, "keyed", "keyed.above.example."), metav1.CreateOptions{}))(t)
	patch := func(as *tenant, namespace, name string, subresource ...string) (*v1alpha1.Zone, error) {
		return as.Zones(namespace).Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"dnssec":{"fqdn":"`+name+
			`.above.example.","ds":[{"keyTag":666,"algorithm":13,"digestType":1,"digest":"0123456789abcdef0123456789abcdef01234567"}]}}}`), metav1.PatchOptions{}, subresource...)
	}
	above := func() (n int) {
		for _, rr := range readEntries(ctx, t, owner, platform, "above") {
			if rr.Header().Rrtype == mdns.TypeDS {
				n++
			}
		}
		return n
	}
	_, err := patch(them, mallory, "plain", "dnssec")
	refusedOwn(t, "the keys of its zone", err, forbidden)
	_, err = patch(them, victim, "keyed", "dnssec")
	refusedOwn(t, "the keys of another's zone", err, forbidden)
	if z := must.Get(patch(them, mallory, "plain"))(t); z.Status.DNSSEC != nil {
		t.Errorf("status.dnssec by a write of the Zone: %+v", z.Status.DNSSEC)
	}
	for name, domain := range map[string]string{"ds-own": "plain.above.example.", "ds-other": "keyed.above.example."} {
		_, err = them.records().Create(ctx, makeRecord(mallory, name, domain, "DS", "666 13 1 0123456789abcdef0123456789abcdef01234567"),
			metav1.CreateOptions{})
		refusedOwn(t, "a DS Record at "+domain, err, forbidden)
	}
	if n := above(); n != 0 {
		t.Errorf("the zone above has %d DS", n)
	}
	must.Get(patch(a.admin, mallory, "plain", "dnssec"))(t)
	if n := above(); n != 0 {
		t.Errorf("S6.16: the zone above has %d DS, and no rule says ds", n)
	}
	must.Get(patch(a.admin, victim, "keyed", "dnssec"))(t)
	if n := above(); n != 1 {
		t.Errorf("S6.16: the zone above has %d DS, want the one of the zone whose rule says ds", n)
	}
}
