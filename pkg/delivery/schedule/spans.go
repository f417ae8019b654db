// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/kit/traces"
)

func (a *attempt) findCauses(confirmed serial.Serial) []string {
	if a.config.Traces == nil || a.snapshot == nil {
		return nil
	}
	return a.config.Views.Traces(a.key.UID, confirmed, a.snapshot.Serial())
}

// startSpan starts a span of a delivery, linked to the traces of the writes in causes. Without sampled causes the span
// records nothing.
func (a *attempt) startSpan(ctx context.Context, what string, causes []string, options ...trace.SpanStartOption) (context.Context,
	trace.Span) {
	ctx, span := traces.StartCaused(ctx, a.config.Traces, what, causes, options...)
	if span.IsRecording() {
		span.SetAttributes(attribute.String("kubizone.class", a.key.Class), attribute.String("kubizone.provider", a.facts.Class.Kind),
			attribute.String("kubizone.zone", a.snapshot.FQDN().String()), attribute.Int64("kubizone.serial", int64(a.snapshot.Serial())))
	}
	return ctx, span
}

// endDelivery ends the span of a delivery. For a confirmed serial it adds the span Confirmed, which begins at the
// oldest change, so a trace shows the time until the servers had the write.
func (a *attempt) endDelivery(span trace.Span, causes []string, event delivery.Event, confirms bool) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("kubizone.outcome", string(event.Outcome)))
	failed := event.Outcome == delivery.OutcomeFailed
	if traces.End(span, failed, string(event.State.Ready.Reason)); !confirms {
		return
	}
	// Without the time of the change, the span is a point in time.
	var since []trace.SpanStartOption
	if !a.facts.ChangedAt.IsZero() {
		since = append(since, trace.WithTimestamp(a.facts.ChangedAt))
	}
	_, confirmed := a.startSpan(context.Background(), "Confirmed", causes, since...)
	confirmed.End()
}
