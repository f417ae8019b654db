// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/ready"
	"kubi.zone/kubizone/pkg/samples"
)

// LagMetrics replaces the controller's metrics of unconfirmed changes while no controller works.
type LagMetrics struct {
	// index is nil unless this server is elected.
	index atomic.Pointer[ready.Index]
}

// NewLagMetrics registers the metrics of late deliveries, so that alerts keep firing after the controller has ended.
// The names are those of the controller's metrics, so a controller in this process needs another registry.
func NewLagMetrics(registry metrics.KubeRegistry) *LagMetrics {
	oldest := samples.New("kubizone_delivery_oldest_change_seconds", ready.HelpOldestChange, "class")
	behind := samples.New("kubizone_delivery_secondaries_behind", ready.HelpSecondariesBehind, "class")
	m := &LagMetrics{}
	samples.Register(registry, func(send samples.Send) {
		index := m.index.Load()
		if index == nil || index.Processes().Controller.Ended.IsZero() {
			return // another server is elected, or the controller works
		}
		for class, lag := range index.FindLags() {
			age := 0.0
			if !lag.NotReadySince.IsZero() {
				age = time.Since(lag.NotReadySince).Seconds()
			}
			send(oldest, age, class)
			send(behind, float64(len(lag.Lagging)), class)
		}
	}, oldest, behind)
	return m
}
