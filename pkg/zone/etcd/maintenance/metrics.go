// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import "k8s.io/component-base/metrics"

type Metrics struct {
	size, inUse, quota *metrics.GaugeVec
	full, corrupt      *metrics.Gauge
	backup             *metrics.Gauge
	defragmentations   *metrics.CounterVec
}

// NewMetrics returns the metrics of etcd's members, registered. A second call with the same registry panics.
func NewMetrics(registry metrics.KubeRegistry) *Metrics {
	const namespace, subsystem = "kubizone", "etcd"
	gauge := func(name, help string) *metrics.GaugeVec {
		return metrics.NewGaugeVec(&metrics.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help,
			StabilityLevel: metrics.BETA}, []string{"endpoint"})
	}
	m := &Metrics{
		size:  gauge("size_bytes", "Size of the member's database on its disk."),
		inUse: gauge("in_use_bytes", "Part of the size that holds data; the rest is given back by defragmentation."),
		quota: gauge("quota_bytes", "Size above which the member takes no writes."),
		full: metrics.NewGauge(&metrics.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: "nospace",
			Help: "1 while etcd refuses writes for want of space (alarm NOSPACE), else 0.", StabilityLevel: metrics.BETA}),
		corrupt: metrics.NewGauge(&metrics.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: "corrupt",
			Help:           "1 while etcd answers nothing because its members hold different data (alarm CORRUPT), else 0.",
			StabilityLevel: metrics.BETA}),
		backup: metrics.NewGauge(&metrics.GaugeOpts{Namespace: namespace, Name: "last_backup_timestamp_seconds",
			Help:           "Time of the last kubizone backup of this store, in seconds since 1970; 0 before the first.",
			StabilityLevel: metrics.BETA}),
		defragmentations: metrics.NewCounterVec(&metrics.CounterOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "defragmentations_total",
			Help: "Defragmentations by this server, by their result.", StabilityLevel: metrics.BETA}, []string{"endpoint", "result"}),
	}
	registry.MustRegister(m.size, m.inUse, m.quota, m.full, m.corrupt, m.backup, m.defragmentations)
	return m
}
