// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"slices"

	"k8s.io/component-base/metrics"
)

// named is how many namespaces a metric names: those that come first.
const named = 10

type figures struct {
	metrics.BaseStableCollector
	refused *metrics.CounterVec
}

func newFigures() figures {
	return figures{refused: metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "kubizone_namespace_budget_refusals_total", StabilityLevel: metrics.BETA,
		Help: "Writes refused because their namespace had too much stored, or wrote too much, by budget: stored or written.",
	}, []string{"budget"})}
}

var (
	storedDesc      = metrics.NewDesc("kubizone_namespace_stored_bytes", "What the records and zones of a namespace take in etcd, of the ten namespaces that have most.", []string{"namespace"}, nil, metrics.BETA, "")
	storedLimitDesc = metrics.NewDesc("kubizone_namespace_stored_limit_bytes", "What the records and zones of a namespace may take, of the ten that have most; absent where it is unlimited.", []string{"namespace"}, nil, metrics.BETA, "")
	debtDesc        = metrics.NewDesc("kubizone_namespace_written_bytes", "What the writes of a namespace have put into etcd through this server and is not forgiven yet, of the ten namespaces that owe most.", []string{"namespace"}, nil, metrics.BETA, "")
	debtLimitDesc   = metrics.NewDesc("kubizone_namespace_written_limit_bytes", "What the writes of a namespace may owe before they are refused, of the ten that owe most; absent where it is unlimited.", []string{"namespace"}, nil, metrics.BETA, "")
)

// Metrics: the server that serves them registers them.
func (b *Budgets) Metrics() (metrics.Registerable, metrics.StableCollector) {
	return b.figures.refused, &collector{budgets: b}
}

type collector struct {
	metrics.BaseStableCollector
	budgets *Budgets
}

// DescribeWithStability implements metrics.StableCollector.
func (c *collector) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	for _, desc := range []*metrics.Desc{storedDesc, storedLimitDesc, debtDesc, debtLimitDesc} {
		descriptions <- desc
	}
}

// figure is one namespace's.
type figure struct {
	namespace string
	has, may  float64
}

// CollectWithStability implements metrics.StableCollector.
func (c *collector) CollectWithStability(found chan<- metrics.Metric) {
	stored, written := c.budgets.top()
	for _, of := range []struct {
		figures    []figure
		has, limit *metrics.Desc
	}{{stored, storedDesc, storedLimitDesc}, {written, debtDesc, debtLimitDesc}} {
		for _, f := range of.figures {
			found <- metrics.NewLazyConstMetric(of.has, metrics.GaugeValue, f.has, f.namespace)
			if f.may > 0 {
				found <- metrics.NewLazyConstMetric(of.limit, metrics.GaugeValue, f.may, f.namespace)
			}
		}
	}
}

// top are the namespaces that have most stored, and that owe most.
func (b *Budgets) top() (stored, written []figure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for namespace := range b.accounts {
		a := b.account(namespace)
		if a.stored > 0 {
			stored = append(stored, figure{namespace, float64(a.stored), float64(a.limits.Stored.of(b.quota()))})
		}
		if a.debt > 0 {
			written = append(written, figure{namespace, a.debt, b.burst(a)})
		}
	}
	first := func(all []figure) []figure {
		slices.SortFunc(all, func(x, y figure) int { return cmp.Or(cmp.Compare(y.has, x.has), cmp.Compare(x.namespace, y.namespace)) })
		return all[:min(len(all), named)]
	}
	return first(stored), first(written)
}
