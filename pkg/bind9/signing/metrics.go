// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/kit/samples"
	"kubi.zone/kubizone/pkg/kit/topten"
)

type Metrics struct{ source atomic.Pointer[source] }

type source struct {
	zones func() []any
	times func(zone types.UID) measured
	now   func() time.Time
}

// expires is the earliest expiry of a served signature. Since dsSince, servers of the parent lack a change of the DS.
// Zero means none.
type measured struct {
	expires, dsSince time.Time
}

func newMetric(name, help, label string) samples.Metric {
	return samples.New("kubizone_dnssec_"+name, help, label)
}

var (
	zonesMetric = newMetric("zones", "Zones by the phase of their signing.", "phase")
	phaseMetric = newMetric("phase_seconds", "Age of the oldest entry of a zone into a phase that ends, so not of Signed.", "phase")
	dsMetric    = newMetric("ds_pending_seconds", "Age of the oldest change of DS records that a server of the parent lacks, of the ten "+
		"namespaces that wait for longest.", "namespace")
	signatureMetric = newMetric("signature_expiry_timestamp_seconds", "Time at which a signature of a signed zone's keys or SOA ends "+
		"first, as its servers answered last, in seconds since 1970, of the ten namespaces with the first.", "namespace")
)

func NewMetrics(registry metrics.KubeRegistry) *Metrics {
	m := &Metrics{}
	samples.Register(registry, m.sendSamples, zonesMetric, phaseMetric, dsMetric, signatureMetric)
	return m
}

func (m *Metrics) measureZones(of source) (end func()) {
	m.source.Store(&of)
	return func() { m.source.Store(nil) }
}

// sendSamples sends the samples of a scrape, from the informer and the memory of the syncs. Without a running
// Controller it sends nothing.
func (m *Metrics) sendSamples(send samples.Send) {
	of := m.source.Load()
	if of == nil {
		return
	}
	phases, begun := map[string]int{}, first{}
	ds, signatures := first{}, first{}

	for _, object := range of.zones() {
		zone := object.(*v1alpha1.Zone)
		status := zone.Status.DNSSEC
		if status == nil || status.Phase == "" {
			continue
		}

		phase := string(status.Phase)
		// Signed is the phase that lasts, so a high age is no sign of a fault.
		if phases[phase]++; status.Phase != v1alpha1.DNSSECSigned {
			if status.LastTransitionTime != nil {
				begun.note(phase, status.LastTransitionTime.Time)
			}
			continue
		}

		times := of.times(zone.UID)
		ds.note(zone.Namespace, times.dsSince)
		signatures.note(zone.Namespace, times.expires)

	}
	for phase, n := range phases {
		send(zonesMetric, float64(n), phase)
	}

	now := of.now()
	for phase, at := range begun {
		send(phaseMetric, now.Sub(at).Seconds(), phase)
	}
	for _, namespace := range topten.Keys(ds, time.Time.Compare) {
		send(dsMetric, now.Sub(ds[namespace]).Seconds(), namespace)
	}
	for _, namespace := range topten.Keys(signatures, time.Time.Compare) {
		send(signatureMetric, float64(signatures[namespace].Unix()), namespace)
	}
}

type first map[string]time.Time

func (f first) note(key string, at time.Time) {
	if was, is := f[key]; !at.IsZero() && (!is || at.Before(was)) {
		f[key] = at
	}
}
