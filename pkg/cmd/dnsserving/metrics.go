// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsserving

import (
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/primary"
)

// Metrics are the metrics of a primary.
type Metrics struct {
	metrics.BaseStableCollector
	primary *primary.Primary
}

var _ metrics.StableCollector = (*Metrics)(nil)

func newDesc(name, help string, labels ...string) *metrics.Desc {
	return metrics.NewDesc("kubizone_primary_"+name, help, labels, nil, metrics.BETA, "")
}

var (
	questions = newDesc("questions_total", "DNS messages by what they were answered with, and those that deserved no answer as dropped. "+
		"Transfers are counted by themselves.", "rcode")
	updateAnswers = newDesc("updates_total", "Dynamic updates that an update key signed, by what they were answered with.", "rcode")
	transfers     = newDesc("transfers_total", "Transfers by kind (axfr; ixfr; ixfr_whole, the whole zone in the place of a difference) "+
		"and result (sent; cut, the peer went or was too slow; failed; no_place).", "kind", "result")
	octets   = newDesc("transfer_bytes_total", "Octets of transfers that left, by kind.", "kind")
	notifies = newDesc("notifies_total", "NOTIFY messages sent, and how many of them were confirmed, and failed.", "result")
	refused  = newDesc("connections_refused_total", "TCP connections over a limit.")
	zones    = newDesc("zones", "Zones that are served at this moment, catalogs not among them.")
)

// NewMetrics registers the metrics of a primary.
func NewMetrics(registry metrics.KubeRegistry, p *primary.Primary) *Metrics {
	m := &Metrics{primary: p}
	registry.CustomMustRegister(m)
	return m
}

// DescribeWithStability implements metrics.StableCollector.
func (m *Metrics) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	for _, one := range []*metrics.Desc{questions, updateAnswers, transfers, octets, notifies, refused, zones} {
		descriptions <- one
	}
}

// CollectWithStability implements metrics.StableCollector.
func (m *Metrics) CollectWithStability(found chan<- metrics.Metric) {
	stats := m.primary.Stats()
	count := func(desc *metrics.Desc, value int64, labels ...string) {
		found <- metrics.NewLazyConstMetric(desc, metrics.CounterValue, float64(value), labels...)
	}
	for rcode, n := range stats.Questions {
		count(questions, n, rcode)
	}
	for rcode, n := range stats.Updates {
		count(updateAnswers, n, rcode)
	}
	for of, n := range stats.Transfers {
		count(transfers, n, of.Kind, of.Result)
	}
	for kind, n := range stats.TransferOctets {
		count(octets, n, kind)
	}
	count(notifies, stats.NotifiesSent, "sent")
	count(notifies, stats.NotifiesConfirmed, "confirmed")
	count(notifies, stats.NotifiesFailed, "failed")
	count(refused, stats.ConnectionsRefused)
	found <- metrics.NewLazyConstMetric(zones, metrics.GaugeValue, float64(stats.Zones))
}
