// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"net/netip"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

func (s *classes) tracesOf(zone *zoneview.Snapshot, since serial.Serial) []string {
	if s.traces == nil || isCatalog(zone) {
		return nil
	}
	return s.zones.Traces(zone.Zone().UID, since, zone.Serial())
}

func (s *classes) startSpan(what string, causes []string, fqdn name.Name, at serial.Serial, peer netip.AddrPort) trace.Span {
	_, span := traces.StartCaused(context.Background(), s.traces, what, causes)
	if span.IsRecording() {
		span.SetAttributes(attribute.String("kubizone.zone", fqdn.String()), attribute.Int64("kubizone.serial", int64(at)))
		if peer.IsValid() {
			span.SetAttributes(attribute.String("network.peer.address", peer.Addr().String()))
		}
	}
	return span
}

func (s *classes) startTransfer(t *transfer, peer netip.AddrPort) trace.Span {
	since := serial.Serial(0)
	if t.request.qtype != typeAXFR {
		since = serial.Serial(t.request.serial)
	}
	return s.startSpan(t.kind(), s.tracesOf(t.zone, since), t.zone.FQDN(), t.zone.Serial(), peer)
}
