// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package traces

import (
	"context"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	Scope     = "kubi.zone/kubizone"
	MaxCauses = 32
	// Octets is the length of a traceparent of version 00 (W3C Trace Context).
	Octets = 55
)

var None = trace.SpanFromContext(context.Background())

// Start starts a child of ctx's span, or returns ctx and None if not recorded.
func Start(ctx context.Context, name string) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, None
	}
	return parent.TracerProvider().Tracer(Scope).Start(ctx, name)
}

// StartJoint starts a child of the first recorded span, with links from and to all recorded spans. If none is recorded,
// the result is None, a span that records nothing.
func StartJoint(ctx context.Context, name string, spans []trace.Span) (context.Context, trace.Span) {
	joint := None
	for _, span := range spans {
		if span == nil || !span.IsRecording() {
			continue
		}
		// The joint span belongs to the trace of the first write. All other traces get a link.
		if joint == None {
			ctx, joint = Start(Within(ctx, span), name)
		} else {
			span.AddLink(trace.Link{SpanContext: joint.SpanContext()})
		}
		joint.AddLink(trace.Link{SpanContext: span.SpanContext()})
	}
	return Within(ctx, joint), joint
}

// Within returns ctx with a span, or ctx alone if it has the span or if neither is recorded.
func Within(ctx context.Context, span trace.Span) context.Context {
	if current := trace.SpanFromContext(ctx); current == span || !current.IsRecording() && !span.IsRecording() {
		return ctx
	}
	return trace.ContextWithSpan(ctx, span)
}

// StartCaused starts the span of work that earlier writes caused, from their traceparents. The span is a child of the
// first, with links to at most MaxCauses. Without a provider or a valid cause, StartCaused returns ctx and None.
func StartCaused(ctx context.Context, provider trace.TracerProvider, name string, causes []string, options ...trace.SpanStartOption) (
	context.Context, trace.Span) {
	if provider == nil || len(causes) == 0 {
		return ctx, None
	}
	var links []trace.Link
	for _, cause := range causes[:min(len(causes), MaxCauses)] {
		// An unreadable traceparent is left out.
		if parent := read(cause); parent.IsValid() {
			links = append(links, trace.Link{SpanContext: parent})
		}
	}
	if len(links) == 0 {
		return ctx, None
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, links[0].SpanContext)
	return provider.Tracer(Scope).Start(ctx, name, append(options, trace.WithLinks(links...))...)
}

func read(traceparent string) trace.SpanContext {
	header := propagation.MapCarrier{"traceparent": traceparent}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), header))
}

// Parent returns the traceparent of a span, or "" if not recorded.
func Parent(span trace.Span) string {
	spanContext := span.SpanContext()
	if !span.IsRecording() || !spanContext.IsSampled() {
		return ""
	}
	var text strings.Builder
	text.Grow(Octets)
	id, parent := spanContext.TraceID(), spanContext.SpanID()
	text.WriteString("00-" + hex.EncodeToString(id[:]) + "-" + hex.EncodeToString(parent[:]) + "-01")
	return text.String()
}

func Call(ctx context.Context, request *http.Request) trace.Span {
	_, span := Start(ctx, request.Method)
	if parent := Parent(span); parent != "" {
		request.Header.Set("traceparent", parent)
		// The path may have a secret.
		span.SetAttributes(attribute.String("http.request.method", request.Method), attribute.String("server.address", request.URL.Host))
	}
	return span
}

func Transport(next http.RoundTripper) http.RoundTripper { return &transport{next} }

type transport struct{ next http.RoundTripper }

func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if parent := Parent(trace.SpanFromContext(request.Context())); parent != "" {
		request = request.Clone(request.Context())
		request.Header.Set("traceparent", parent)
	}
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper is for client-go.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func Join(causes []string, more ...string) []string {
	for _, cause := range more {
		if len(causes) == MaxCauses {
			break
		}
		if cause != "" && !slices.Contains(causes, cause) {
			causes = append(causes, cause)
		}
	}
	return causes
}

// End ends a span, with the reason of a failure. A message could have a tenant's data.
func End(span trace.Span, failed bool, reason string) {
	if failed && span.IsRecording() {
		span.SetStatus(codes.Error, reason)
	}
	span.End()
}
