// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromapi

import (
	"sync"

	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/zone/zoneview/feed"
)

type Metrics struct {
	restarts *metrics.CounterVec

	mutex       sync.Mutex
	frozenZones *metrics.Gauge
}

func NewMetrics(registry metrics.KubeRegistry) *Metrics {
	m := &Metrics{
		restarts: metrics.NewCounterVec(&metrics.CounterOpts{Namespace: "kubizone", Subsystem: "feed", Name: "restarts_total",
			Help: "Zones read anew because a view was not what the server said (reason misfit), " +
				"or the server no longer held its serial (reason trimmed).",
			StabilityLevel: metrics.BETA}, []string{"reason"}),
		frozenZones: metrics.NewGauge(&metrics.GaugeOpts{Namespace: "kubizone", Subsystem: "view", Name: "frozen_zones",
			Help:           "Zones that cannot be proven at this moment, and are served as they were proven last or not at all.",
			StabilityLevel: metrics.BETA}),
	}
	registry.MustRegister(m.restarts, m.frozenZones)
	return m
}

func (m *Metrics) countFrozen(of *feed.Feed) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	frozen, _ := of.Counts()
	m.frozenZones.Set(float64(frozen))
}
