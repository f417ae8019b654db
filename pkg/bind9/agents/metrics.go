// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"cmp"
	"time"

	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/kit/samples"
	"kubi.zone/kubizone/pkg/kit/topten"
)

var expiry = samples.New("kubizone_agent_certificate_expiry_timestamp_seconds", "Time at which the first certificate of an "+
	"agent of a namespace ends, in seconds since 1970, as the agent shows it; of the ten namespaces with the earliest.", "namespace")

func NewMetrics(registry metrics.KubeRegistry, of *Agents) {
	samples.Register(registry, func(send samples.Send) {
		ends := of.listExpiries(time.Now())
		for _, namespace := range topten.Keys(ends, cmp.Compare) {
			send(expiry, float64(ends[namespace]), namespace)
		}
	}, expiry)
}

// listExpiries returns the earliest end of a certificate in each namespace, in Unix seconds. Agents that no client used
// for clientAge are left out.
func (a *Agents) listExpiries(now time.Time) map[string]int64 {
	first := map[string]int64{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.clients {
		ends := one.transport.ends.Load()
		if ends == 0 || now.Sub(one.usedAt) > clientAge {
			continue
		}
		first[one.namespace] = min(ends, cmp.Or(first[one.namespace], ends))
	}
	return first
}
