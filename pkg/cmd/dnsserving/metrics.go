// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsserving

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/primary"
)

// Metrics are those of the primaries of one process; none has a label for a zone or a peer.
type Metrics struct {
	metrics.BaseStableCollector
	mutex sync.Mutex
	// stats of primaries that run; past is what those that ended had come to.
	stats map[*primary.Primary]func() primary.Stats
	past  []primary.Stats
}

var _ metrics.StableCollector = (*Metrics)(nil)

func describe(name, help string, labels ...string) *metrics.Desc {
	return metrics.NewDesc("kubizone_primary_"+name, help, labels, nil, metrics.BETA, "")
}

var (
	questions = describe("questions_total", "DNS messages by what they were answered with, and those that deserved no answer as dropped. Transfers are counted by themselves.", "rcode")
	transfers = describe("transfers_total", "Transfers by kind (axfr; ixfr; ixfr_whole, the whole zone in the place of a difference) and result (sent; cut, the peer went or was too slow; failed; no_place).", "kind", "result")
	octets    = describe("transfer_bytes_total", "Octets of transfers that left, by kind.", "kind")
	notifies  = describe("notifies_total", "NOTIFY messages sent, and how many of them were confirmed, and failed.", "result")
	refused   = describe("connections_refused_total", "TCP connections over a limit.")
	zones     = describe("zones", "Zones that are served to somebody at this moment, catalogs not among them.")
)

// NewMetrics makes metrics that are not registered.
func NewMetrics() *Metrics { return &Metrics{stats: make(map[*primary.Primary]func() primary.Stats)} }

// Follow has a primary read until the returned function is called.
func (m *Metrics) Follow(p *primary.Primary) func() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.stats[p] = p.Stats
	return func() {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		last := p.Stats()
		last.Zones = 0
		delete(m.stats, p)
		m.past = append(m.past, last) // a counter never goes back
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (m *Metrics) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	for _, one := range []*metrics.Desc{questions, transfers, octets, notifies, refused, zones} {
		descriptions <- one
	}
}

// CollectWithStability implements metrics.StableCollector.
func (m *Metrics) CollectWithStability(found chan<- metrics.Metric) {
	m.mutex.Lock()
	all := slices.Clone(m.past)
	for stats := range maps.Values(m.stats) {
		all = append(all, stats())
	}
	m.mutex.Unlock()
	if len(all) == 0 {
		return
	}
	sum := all[0]
	sum.Questions, sum.Transfers, sum.TransferOctets = map[string]int64{}, map[primary.TransferKind]int64{}, map[string]int64{}
	for i, one := range all {
		add(sum.Questions, one.Questions)
		add(sum.Transfers, one.Transfers)
		add(sum.TransferOctets, one.TransferOctets)
		if i > 0 {
			sum.NotifiesSent += one.NotifiesSent
			sum.NotifiesConfirmed += one.NotifiesConfirmed
			sum.NotifiesFailed += one.NotifiesFailed
			sum.ConnectionsRefused += one.ConnectionsRefused
			sum.Zones += one.Zones
		}
	}
	count := func(desc *metrics.Desc, value int64, labels ...string) {
		found <- metrics.NewLazyConstMetric(desc, metrics.CounterValue, float64(value), labels...)
	}
	for rcode, n := range sum.Questions {
		count(questions, n, rcode)
	}
	for of, n := range sum.Transfers {
		count(transfers, n, of.Kind, of.Result)
	}
	for kind, n := range sum.TransferOctets {
		count(octets, n, kind)
	}
	count(notifies, sum.NotifiesSent, "sent")
	count(notifies, sum.NotifiesConfirmed, "confirmed")
	count(notifies, sum.NotifiesFailed, "failed")
	count(refused, sum.ConnectionsRefused)
	found <- metrics.NewLazyConstMetric(zones, metrics.GaugeValue, float64(sum.Zones))
}

func add[K comparable](into, from map[K]int64) {
	for key, n := range from {
		into[key] += n
	}
}
