// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"cmp"
	"time"

	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/topten"
)

// Metrics are the metrics of agents.
type Metrics struct {
	metrics.BaseStableCollector
	agents *Agents
}

var (
	expiryDesc = metrics.NewDesc("kubizone_agent_certificate_expiry_timestamp_seconds", "Time at which the first certificate of an "+
		"agent of a namespace ends, in seconds since 1970, as the agent shows it; of the ten namespaces with the earliest.",
		[]string{"namespace"}, nil, metrics.BETA, "")
	_ metrics.StableCollector = (*Metrics)(nil)
)

// NewMetrics registers the metrics.
func NewMetrics(registry metrics.KubeRegistry, of *Agents) *Metrics {
	m := &Metrics{agents: of}
	registry.CustomMustRegister(m)
	return m
}

// DescribeWithStability implements metrics.StableCollector.
func (m *Metrics) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	descriptions <- expiryDesc
}

// CollectWithStability implements metrics.StableCollector.
func (m *Metrics) CollectWithStability(found chan<- metrics.Metric) {
	first := m.agents.listExpiries(time.Now())
	for _, namespace := range topten.Keys(first, cmp.Compare) {
		found <- metrics.NewLazyConstMetric(expiryDesc, metrics.GaugeValue, float64(first[namespace]), namespace)
	}
}

// listExpiries returns the earliest end of a certificate by namespace, of agents used within clientAge.
func (a *Agents) listExpiries(now time.Time) map[string]int64 {
	first := map[string]int64{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.clients {
		ends := one.transport.ends.Load()
		if known := first[one.namespace]; ends > 0 && now.Sub(one.used) <= clientAge && (known == 0 || ends < known) {
			first[one.namespace] = ends
		}
	}
	return first
}
