// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/kit/samples"
	"kubi.zone/kubizone/pkg/kit/topten"
)

type Metrics struct{ refused *metrics.CounterVec }

func NewMetrics(registry metrics.KubeRegistry, budgets *Budgets) *Metrics {
	m := &Metrics{metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "kubizone_namespace_budget_refusals_total", StabilityLevel: metrics.BETA,
		Help: "Writes refused because their namespace had too much stored, wrote too much or had too many Bind9Clusters, by budget: " +
			"stored, written or clusters.",
	}, []string{"budget"})}
	registry.MustRegister(m.refused)
	samples.Register(registry, budgets.sendSamples, storedMetric, storedLimitMetric, chargedMetric, chargedLimitMetric)
	return m
}

var (
	storedMetric = samples.New("kubizone_namespace_stored_bytes", "What the records and zones of a namespace take in etcd, "+
		"of the ten namespaces that have most.", "namespace")
	storedLimitMetric = samples.New("kubizone_namespace_stored_limit_bytes", "What the records and zones of a namespace may take, "+
		"of the ten that have most; absent where it is unlimited.", "namespace")
	chargedMetric = samples.New("kubizone_namespace_written_bytes", "What the writes of a namespace have put into etcd through "+
		"this server and is not forgiven yet, of the ten namespaces that owe most.", "namespace")
	chargedLimitMetric = samples.New("kubizone_namespace_written_limit_bytes", "What the writes of a namespace may owe before they are "+
		"refused, of the ten that owe most; absent where it is unlimited.", "namespace")
)

type sample struct{ used, limit float64 }

// sendSamples sends the octets and limits of the namespaces with most, so that tenants cannot make any number of
// series.
func (b *Budgets) sendSamples(send samples.Send) {
	stored, written := b.measureNamespaces()
	sendMost := func(of map[string]sample, has, limit samples.Metric) {
		for _, namespace := range topten.Keys(of, func(x, y sample) int { return topten.Descending(x.used, y.used) }) {
			send(has, of[namespace].used, namespace)
			if of[namespace].limit > 0 {
				send(limit, of[namespace].limit, namespace)
			}
		}
	}
	sendMost(stored, storedMetric, storedLimitMetric)
	sendMost(written, chargedMetric, chargedLimitMetric)
}

// measureNamespaces returns stored and charged octets with their limits, 0 for unlimited, of namespaces that have any.
func (b *Budgets) measureNamespaces() (stored, written map[string]sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stored, written = map[string]sample{}, map[string]sample{}
	for namespace := range b.accounts {
		a := b.currentAccount(namespace)
		if a.storedOctets > 0 {
			stored[namespace] = sample{float64(a.storedOctets), float64(a.limits.Stored.octetsOf(b.quota()))}
		}
		if a.chargedOctets > 0 {
			written[namespace] = sample{a.chargedOctets, b.burst(a)}
		}
	}
	return stored, written
}

// Namespaces returns the namespaces with stored objects, in no order. A nil receiver has none.
func (b *Budgets) Namespaces() []string {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for namespace, a := range b.accounts {
		if a.storedOctets > 0 {
			all = append(all, namespace)
		}
	}
	return all
}
