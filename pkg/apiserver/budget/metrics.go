// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/topten"
)

// Metrics are the metrics of Budgets.
type Metrics struct {
	metrics.BaseStableCollector
	budgets *Budgets
	refused *metrics.CounterVec
}

var _ metrics.StableCollector = (*Metrics)(nil)

// NewMetrics registers and returns the metrics.
func NewMetrics(registry metrics.KubeRegistry, budgets *Budgets) *Metrics {
	m := &Metrics{budgets: budgets, refused: metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "kubizone_namespace_budget_refusals_total", StabilityLevel: metrics.BETA,
		Help: "Writes refused because their namespace had too much stored, wrote too much or had too many Bind9Clusters, by budget: " +
			"stored, written or clusters.",
	}, []string{"budget"})}
	registry.MustRegister(m.refused)
	registry.CustomMustRegister(m)
	return m
}

var (
	storedDesc = metrics.NewDesc("kubizone_namespace_stored_bytes", "What the records and zones of a namespace take in etcd, "+
		"of the ten namespaces that have most.", []string{"namespace"}, nil, metrics.BETA, "")
	storedLimitDesc = metrics.NewDesc("kubizone_namespace_stored_limit_bytes", "What the records and zones of a namespace may take, "+
		"of the ten that have most; absent where it is unlimited.", []string{"namespace"}, nil, metrics.BETA, "")
	chargedDesc = metrics.NewDesc("kubizone_namespace_written_bytes", "What the writes of a namespace have put into etcd through "+
		"this server and is not forgiven yet, of the ten namespaces that owe most.", []string{"namespace"}, nil, metrics.BETA, "")
	chargedLimitDesc = metrics.NewDesc("kubizone_namespace_written_limit_bytes", "What the writes of a namespace may owe before they are "+
		"refused, of the ten that owe most; absent where it is unlimited.", []string{"namespace"}, nil, metrics.BETA, "")
)

// DescribeWithStability implements metrics.StableCollector.
func (m *Metrics) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	for _, desc := range []*metrics.Desc{storedDesc, storedLimitDesc, chargedDesc, chargedLimitDesc} {
		descriptions <- desc
	}
}

type sample struct{ has, may float64 }

// CollectWithStability implements metrics.StableCollector.
func (m *Metrics) CollectWithStability(found chan<- metrics.Metric) {
	stored, written := m.budgets.measureNamespaces()
	for _, of := range []struct {
		samples    map[string]sample
		has, limit *metrics.Desc
	}{{stored, storedDesc, storedLimitDesc}, {written, chargedDesc, chargedLimitDesc}} {
		for _, namespace := range topten.Keys(of.samples, func(x, y sample) int { return topten.Descending(x.has, y.has) }) {
			one := of.samples[namespace]
			found <- metrics.NewLazyConstMetric(of.has, metrics.GaugeValue, one.has, namespace)
			if one.may > 0 {
				found <- metrics.NewLazyConstMetric(of.limit, metrics.GaugeValue, one.may, namespace)
			}
		}
	}
}

// Namespaces returns the namespaces with stored objects; nil if b is nil.
func (b *Budgets) Namespaces() []string {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for namespace, a := range b.accounts {
		if a.stored > 0 {
			all = append(all, namespace)
		}
	}
	return all
}

func (b *Budgets) measureNamespaces() (stored, written map[string]sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stored, written = map[string]sample{}, map[string]sample{}
	for namespace := range b.accounts {
		a := b.currentAccount(namespace)
		if a.stored > 0 {
			stored[namespace] = sample{float64(a.stored), float64(a.limits.Stored.of(b.quota()))}
		}
		if a.charged > 0 {
			written[namespace] = sample{a.charged, b.burst(a)}
		}
	}
	return stored, written
}
