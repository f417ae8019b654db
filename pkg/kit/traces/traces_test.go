// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package traces_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/test/must"
)

type recorder struct{ ended []sdktrace.ReadOnlySpan }

func (r *recorder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (r *recorder) OnEnd(s sdktrace.ReadOnlySpan)                   { r.ended = append(r.ended, s) }
func (r *recorder) Shutdown(context.Context) error                  { return nil }
func (r *recorder) ForceFlush(context.Context) error                { return nil }

func newProvider(sampler sdktrace.Sampler) (*sdktrace.TracerProvider, *recorder) {
	r := &recorder{}
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sampler)), sdktrace.WithSpanProcessor(r)), r
}

func makeRemote(t *testing.T) context.Context {
	id := must.Get(trace.TraceIDFromHex("0af7651916cd43dd8448eb211c80319c"))(t)
	span := must.Get(trace.SpanIDFromHex("b7ad6b7169203331"))(t)
	return trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span,
		TraceFlags: trace.FlagsSampled, Remote: true}))
}

// Only a span that is recorded here gives later work a traceparent. A header sent by a client, or a span that is not
// sampled, does not, so clients cannot cause traces.
func TestParent_isThatOfARecordedSpan(t *testing.T) {
	never, _ := newProvider(sdktrace.NeverSample())
	unsampled, _ := never.Tracer("").Start(t.Context(), "request")
	for name, ctx := range map[string]context.Context{"none": t.Context(), "a client's header": makeRemote(t), "not sampled": unsampled} {
		within, span := traces.Start(ctx, "Commit")
		request := must.Get(http.NewRequestWithContext(within, http.MethodPost, "http://webhook.example/", nil))(t)
		call := traces.Call(within, request)
		if within != ctx || traces.Parent(span) != "" || traces.Parent(trace.SpanFromContext(ctx)) != "" || call.IsRecording() ||
			len(request.Header) > 0 {
			t.Errorf("%s: a span, or %q", name, request.Header)
		}
	}
	always, done := newProvider(sdktrace.AlwaysSample())
	ctx, root := always.Tracer("").Start(t.Context(), "request")
	ctx, span := traces.Start(ctx, "Commit")
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, "http://webhook.example/secret?token=x", nil))(t)
	traces.End(traces.Call(ctx, request), false, "")
	span.End()
	root.End()
	if parent := traces.Parent(root); len(parent) != 0 {
		t.Errorf("an ended span has %q", parent)
	}
	call := done.ended[0]
	want := "00-" + root.SpanContext().TraceID().String() + "-" + call.SpanContext().SpanID().String() + "-01"
	if got := request.Header.Get("traceparent"); got != want || len(got) != traces.Octets {
		t.Errorf("traceparent %q, not %q", got, want)
	}
	if text := fmt.Sprint(call.Attributes()); strings.Contains(text, "secret") || strings.Contains(text, "token") {
		t.Errorf("the span has the path of the request: %s", text)
	}
}

// A NOTIFY may announce several commits. Its span is a child of the first commit's span, has a link to each, and is
// recorded because the commits were, at any sampling rate of this process.
func TestStartCaused_linksToEachCause(t *testing.T) {
	never, done := newProvider(sdktrace.NeverSample())
	var causes []string
	for i := range traces.MaxCauses + 5 {
		causes = append(causes, fmt.Sprintf("00-%032x-%016x-01", i+1, i+1))
	}
	causes = append([]string{causes[0], "", "00-no-traceparent-01"}, causes...)
	joined := traces.Join(nil, causes...)
	if len(joined) != traces.MaxCauses || joined[0] != causes[0] {
		t.Errorf("%d causes after %s", len(joined), joined[0])
	}
	_, span := traces.StartCaused(t.Context(), never, "NOTIFY", traces.Join(nil, causes[0], causes[4]))
	span.End()
	if len(done.ended) != 1 || len(done.ended[0].Links()) != 2 || traces.Parent(span) != "" ||
		done.ended[0].Parent().SpanID().String() != "0000000000000001" {
		t.Errorf("recorded: %+v", done.ended)
	}
	for name, none := range map[string][]string{"no cause": nil, "an unreadable cause": {"00-no-traceparent-01"}} {
		if ctx, span := traces.StartCaused(t.Context(), never, "NOTIFY", none); ctx != t.Context() || span != traces.None {
			t.Errorf("%s makes a span", name)
		}
	}
}

func TestStart_costsNothingWhenOff(t *testing.T) {
	ctx := makeRemote(t)
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, "http://webhook.example/", nil))(t)
	if allocations := testing.AllocsPerRun(100, func() {
		within, span := traces.Start(ctx, "Commit")
		_ = traces.Within(within, span)
		_ = traces.Parent(span)
		traces.End(span, true, "refused")
		traces.Call(ctx, request).End()
		_, span = traces.StartCaused(ctx, nil, "NOTIFY", nil)
		span.End()
	}); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}
