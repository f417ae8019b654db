// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/ready"
)

// LagMetrics are the controller's metrics of unconfirmed changes. The elected server reports them while no controller
// works.
type LagMetrics struct {
	metrics.BaseStableCollector
	oldest, behind *metrics.Desc
	// index is nil at other servers.
	index atomic.Pointer[ready.Index]
}

var _ metrics.StableCollector = (*LagMetrics)(nil)

// NewLagMetrics registers and returns metrics. The registry must not have the controller's, of the same names.
func NewLagMetrics(registry metrics.KubeRegistry) *LagMetrics {
	describe := func(name, help string) *metrics.Desc {
		return metrics.NewDesc("kubizone_delivery_"+name, help, []string{"class"}, nil, metrics.BETA, "")
	}
	m := &LagMetrics{oldest: describe("oldest_change_seconds", ready.HelpOldestChange),
		behind: describe("secondaries_behind", ready.HelpSecondariesBehind)}
	registry.CustomMustRegister(m)
	return m
}

// DescribeWithStability implements metrics.StableCollector.
func (m *LagMetrics) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	descriptions <- m.oldest
	descriptions <- m.behind
}

// CollectWithStability implements metrics.StableCollector.
func (m *LagMetrics) CollectWithStability(found chan<- metrics.Metric) {
	index := m.index.Load()
	if index == nil || index.Processes().Controller.Ended.IsZero() {
		return
	}
	for class, lag := range index.FindLags() {
		age := 0.0
		if !lag.Oldest.IsZero() {
			age = time.Since(lag.Oldest).Seconds()
		}
		found <- metrics.NewLazyConstMetric(m.oldest, metrics.GaugeValue, age, class)
		found <- metrics.NewLazyConstMetric(m.behind, metrics.GaugeValue, float64(len(lag.Behind)), class)
	}
}
