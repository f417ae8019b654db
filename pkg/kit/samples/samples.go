// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package samples

import (
	"strings"

	"k8s.io/component-base/metrics"
)

type Metric struct {
	desc *metrics.Desc
	kind metrics.ValueType
}

func New(name, help string, labels ...string) Metric {
	m := Metric{metrics.NewDesc(name, help, labels, nil, metrics.BETA, ""), metrics.GaugeValue}
	if strings.HasSuffix(name, "_total") {
		m.kind = metrics.CounterValue
	}
	return m
}

type Send func(of Metric, value float64, labels ...string)

// Register registers metrics. collect sends their values at each scrape.
func Register(registry metrics.KubeRegistry, collect func(send Send), all ...Metric) {
	registry.CustomMustRegister(&collector{all: all, collect: collect})
}

type collector struct {
	metrics.BaseStableCollector
	all     []Metric
	collect func(send Send)
}

func (c *collector) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	for _, m := range c.all {
		descriptions <- m.desc
	}
}

func (c *collector) CollectWithStability(found chan<- metrics.Metric) {
	c.collect(func(of Metric, value float64, labels ...string) {
		found <- metrics.NewLazyConstMetric(of.desc, of.kind, value, labels...)
	})
}
