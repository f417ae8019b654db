// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/traces"
)

// spans are nil or traces.None unless the request is recorded: commit lasts until the answer, wait until the decision.
type spans struct{ commit, wait trace.Span }

func (s *spans) isRecorded() bool { return s.commit != nil && s.commit.IsRecording() }

func (s *spans) beginWait(ctx context.Context) {
	if s.isRecorded() {
		_, s.wait = traces.Start(traces.Within(ctx, s.commit), "Queue")
	}
}

func (s *spans) endWait() {
	if s.wait != nil {
		s.wait.End()
	}
}

// traceparent returns the request's, or the cascade's, whose up to 40,000 steps have no spans.
func (g *group) traceparent() string {
	if g.isRecorded() {
		return traces.Parent(g.commit)
	}
	if item := g.firstWrite().OutboxItem; item != nil {
		return item.Trace
	}
	return ""
}

func (g *group) traceWork(work *law.Work) *law.Work {
	parent := g.traceparent()
	if parent == "" {
		return work
	}
	traced := *work
	traced.Trace = parent
	return &traced
}

// causeOf returns ctx with the first recorded group's span, as ctx may be an earlier caller's.
func causeOf(ctx context.Context, groups []*group) context.Context {
	cause := traces.None
	for _, g := range groups {
		if g.endWait(); g.isRecorded() && !cause.IsRecording() {
			cause = g.commit
		}
	}
	return traces.Within(ctx, cause)
}

// startBatch starts a span below the first recorded group's, linked with the others.
func (b *batch) startBatch(ctx context.Context) (context.Context, trace.Span) {
	b.span = traces.None
	for _, g := range b.groups {
		if !g.isRecorded() {
			continue
		}
		if b.span == traces.None {
			ctx, b.span = traces.Start(traces.Within(ctx, g.commit), "Batch")
		} else {
			g.commit.AddLink(trace.Link{SpanContext: b.span.SpanContext()})
		}
		b.span.AddLink(trace.Link{SpanContext: g.commit.SpanContext()})
	}
	if b.span == traces.None {
		return traces.Within(ctx, b.span), b.span
	}
	b.span.SetAttributes(attribute.Int("kubizone.groups", len(b.groups)), attribute.Int("kubizone.try", b.try))
	if b.Zone != nil {
		b.span.SetAttributes(attribute.String("kubizone.zone", b.Zone.FQDN().String()))
	}
	return ctx, b.span
}

func (b *batch) startTransaction(ctx context.Context, others []*parked) (context.Context, trace.Span) {
	span := traces.None
	join := func(of *batch) {
		if of.span == nil || !of.span.IsRecording() {
			return
		}
		if span == traces.None {
			ctx, span = traces.Start(traces.Within(ctx, of.span), "Transaction")
		} else {
			of.span.AddLink(trace.Link{SpanContext: span.SpanContext()})
		}
		span.AddLink(trace.Link{SpanContext: of.span.SpanContext()})
	}
	join(b)
	for _, p := range others {
		join(p.b)
	}
	return ctx, span
}

func (o *outcome) endTransaction(span trace.Span, compares, puts int) {
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("kubizone.compares", compares), attribute.Int("kubizone.puts", puts),
			attribute.Bool("kubizone.committed", o.err == nil && o.r.Succeeded))
	}
	traces.End(span, o.err != nil, "etcd")
}

func (g *group) startLaw(ctx context.Context) (context.Context, trace.Span) {
	if !g.isRecorded() {
		return ctx, traces.None
	}
	return traces.Start(traces.Within(ctx, g.commit), "Law")
}

func (g *group) endLaw(span trace.Span, lacks int) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.Int("kubizone.missing_facts", lacks))
	for _, m := range g.members {
		var refusal *law.Refusal
		if errors.As(m.refusal, &refusal) {
			span.SetAttributes(attribute.String("kubizone.rule", refusal.Rule))
		}
	}
	span.End()
}
