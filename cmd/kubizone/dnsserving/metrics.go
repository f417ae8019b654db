// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsserving

import (
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/kit/samples"
	"kubi.zone/kubizone/pkg/primary"
)

func newMetric(name, help string, labels ...string) samples.Metric {
	return samples.New("kubizone_primary_"+name, help, labels...)
}

var (
	questions = newMetric("questions_total", "DNS messages by what they were answered with, and those that deserved no answer as dropped. "+
		"Transfers are counted by themselves.", "rcode")
	updateAnswers = newMetric("updates_total", "Dynamic updates that an update key signed, by what they were answered with.", "rcode")
	transfers     = newMetric("transfers_total", "Transfers by kind (axfr; ixfr; ixfr_whole, the whole zone in the place of a difference) "+
		"and result (sent; cut, the peer went or was too slow; failed; no_place; refused).", "kind", "result")
	octets   = newMetric("transfer_bytes_total", "Octets of transfers that left, by kind.", "kind")
	notifies = newMetric("notifies_total", "NOTIFY messages sent, and how many of them were confirmed, and failed.", "result")
	faults   = newMetric("notify_faults", "Zones whose last NOTIFY a server did not confirm, by server and answer: an RCODE such as "+
		"REFUSED, a TSIG error, or NoAnswer. At most 100 servers.", "server", "answer")
	refused    = newMetric("connections_refused_total", "TCP connections over a limit.")
	handshakes = newMetric("tls_handshakes_total", "TLS handshakes by result: ok, or the cause of their failure, such as "+
		"TLSUnknownAuthority.", "result")
	zones = newMetric("zones", "Zones that are served at this moment, catalogs not among them.")
)

func NewMetrics(registry metrics.KubeRegistry, p *primary.Primary) {
	samples.Register(registry, func(send samples.Send) {
		stats := p.Stats()
		count := func(of samples.Metric, value int64, labels ...string) { send(of, float64(value), labels...) }
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
		for at, n := range stats.NotifyFaults {
			send(faults, float64(n), at.Server, at.Answer)
		}
		count(refused, stats.ConnectionsRefused)
		for result, n := range stats.TLSHandshakes {
			count(handshakes, n, result)
		}
		send(zones, float64(stats.Zones))
	}, questions, updateAnswers, transfers, octets, notifies, faults, refused, handshakes, zones)
}
