// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"fmt"
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// Only zones in a phase of signing have metrics, and only while the controller runs. The metrics by namespace name the
// ten most urgent, to bound their number.
func TestMetrics_ofSignedZones(t *testing.T) {
	var objects []runtime.Object
	add := func(namespace string, phase v1alpha1.DNSSECPhase, age time.Duration) *v1alpha1.Zone {
		zone, _ := zoneOf(namespace, "", v1alpha1.DNSClassReference{Name: "public"}, 0)
		if phase != "" {
			zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: zone.Status.FQDN, Phase: phase,
				LastTransitionTime: &metav1.Time{Time: begin.Add(-age)}}
		}
		objects = append(objects, zone)
		return zone
	}
	add("plain", "", 0)
	add("moving", v1alpha1.DNSSECMoving, time.Minute)
	add("moving-longer", v1alpha1.DNSSECMoving, time.Hour)
	left := add("withdrawing", v1alpha1.DNSSECWithdrawing, time.Second)
	var signed []*v1alpha1.Zone
	for i := range 30 {
		signed = append(signed, add(fmt.Sprintf("n%02d", i), v1alpha1.DNSSECSigned, 48*time.Hour))
	}
	c := newController(t, func([]string, name.Name) string { return "" }, objects...)
	for i, zone := range append(signed, left) {
		c.memory.update(zone.UID, func(m *measured) {
			m.expires, m.dsSince = begin.Add(time.Duration(i)*time.Hour), begin.Add(time.Duration(i-100)*time.Hour)
		})
	}
	if got := readValues(t, c); len(got) != 0 {
		t.Errorf("a controller that does not run has %v", got)
	}
	end := c.metrics.measureZones(source{c.Zones.Informer().GetIndexer().List, c.memory.readTimes, c.Now})
	want := map[string]float64{
		"kubizone_dnssec_zones Moving": 2, "kubizone_dnssec_zones Withdrawing": 1, "kubizone_dnssec_zones Signed": 30,
		"kubizone_dnssec_phase_seconds Moving": 3600, "kubizone_dnssec_phase_seconds Withdrawing": 1}
	for i := range 10 {
		want[fmt.Sprintf("kubizone_dnssec_signature_expiry_timestamp_seconds n%02d", i)] = float64(begin.Unix() + int64(i)*3600)
		want[fmt.Sprintf("kubizone_dnssec_ds_pending_seconds n%02d", i)] = float64((100 - i) * 3600)
	}
	if got := readValues(t, c); !maps.Equal(got, want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
	if end(); len(readValues(t, c)) != 0 {
		t.Error("a controller that has ended has metrics")
	}
}

func readValues(t *testing.T, c *Controller) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, family := range must.Get(c.Registry.Gather())(t) {
		for _, one := range family.GetMetric() {
			values[family.GetName()+" "+one.GetLabel()[0].GetValue()] = one.GetGauge().GetValue()
		}
	}
	return values
}

// If the signer is dead when the controller starts, the controller reads from another server of the cluster when the
// signatures end. So the metric of that time needs no signer.
func TestSyncZone_readsSignaturesWithoutTheSigner(t *testing.T) {
	zone, one := zoneOf("team", "", v1alpha1.DNSClassReference{Name: "public"}, 0)
	zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{FQDN: zone.Status.FQDN, Phase: v1alpha1.DNSSECSigned, Policy: "default",
		Signer: &v1alpha1.ZoneSigner{Namespace: "platform", Name: "public-signer-0"}}
	of := classOf("public", "platform/public", []string{"team"})
	of.Spec.AllowLocalAddresses = true
	objects := append(signingCluster("platform", "public", true), of, zone, one)
	away := must.Get(rig.FreePort())(t)
	for i, at := range []string{away.String(), startSigned(t, "key-1", 30)} {
		objects[1+i].(*bind9.Bind9Instance).Spec.External = &bind9.ExternalServer{Address: at, TSIGSecretName: fmt.Sprintf("key-%d", i),
			AgentURL: "http://" + away.String(), AllowPlainHTTP: true}
	}
	c := newController(t, func([]string, name.Name) string { return string(zone.UID) }, objects...)
	must.Get(c.syncZone(t.Context(), zone))(t)
	if at := c.memory.readTimes(zone.UID).expires; at.Unix() != signedUntil {
		t.Errorf("the signatures end at %s", at)
	}
}
