// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// spanRecorder keeps ended spans.
type spanRecorder struct {
	mu    sync.Mutex
	ended []sdktrace.ReadOnlySpan
}

func (r *spanRecorder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (r *spanRecorder) Shutdown(context.Context) error                  { return nil }
func (r *spanRecorder) ForceFlush(context.Context) error                { return nil }
func (r *spanRecorder) OnEnd(s sdktrace.ReadOnlySpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, s)
}

func (r *spanRecorder) listSpans(name string) (found []sdktrace.ReadOnlySpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.ended {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	return found
}

// Three of five concurrent writes are sampled: their batch links to each of the three, and the step of
// each has its own traceparent. A client's header alone leaves none.
func TestTraces_aBatchLinksToEachSampledWrite(t *testing.T) {
	t.Parallel()
	st, spans, g := store.New(t), &spanRecorder{}, &gate{}
	server := st.Server(func(c *ledger.Config) { c.Fault = g.passPoint })
	store.Must(server.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	header := trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true}))

	g.holdAt("before-commit")
	var all sync.WaitGroup
	requests := map[string]string{} // by Record
	create := func(ctx context.Context, name string, sampled bool) {
		ctx, request := trace.ContextWithSpan(ctx, trace.SpanFromContext(ctx)), trace.SpanFromContext(ctx)
		if sampled {
			ctx, request = provider.Tracer("").Start(ctx, "request")
			requests[name] = request.SpanContext().TraceID().String()
		}
		all.Go(func() {
			defer request.End()
			store.Must(server.CreateRecord(ctx, store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
		})
	}
	create(t.Context(), "first", true)
	<-g.reached
	for i, name := range []string{"plain", "header", "a", "b", "c"} {
		ctx := t.Context()
		if name == "header" {
			ctx = header
		}
		create(ctx, name, i > 1)
		store.Eventually(t, "a write waits at the zone", func() bool { return server.Ledger.Waiting("infra", "z") == i+1 })
	}
	g.holdAt("")
	all.Wait()

	steps := map[string]string{}
	journal := st.Prefix + "/ledger/journal/"
	for _, kv := range must.Get(must.Get(st.Connect())(t).Get(t.Context(), journal, clientv3.WithPrefix()))(t).Kvs {
		var tx content.Transaction
		must.Succeed(t, layout.Decode(kv.Value, &tx))
		for _, step := range tx.Steps {
			if step.Record != nil {
				steps[step.Record.Name] = step.Trace
			}
		}
	}
	commits := map[string]string{}
	for _, s := range spans.listSpans("Commit") {
		commits[s.SpanContext().TraceID().String()] = s.SpanContext().SpanID().String()
	}
	for _, name := range []string{"first", "plain", "header", "a", "b", "c"} {
		want := ""
		if id := requests[name]; id != "" {
			want = fmt.Sprintf("00-%s-%s-01", id, commits[id])
		}
		if got, known := steps[name]; !known || got != want {
			t.Errorf("the step of %s has %q, not %q", name, got, want)
		}
	}
	var batches []string
	for _, s := range spans.listSpans("Batch") {
		var causes []string
		for _, link := range s.Links() {
			causes = append(causes, link.SpanContext.TraceID().String())
		}
		slices.Sort(causes)
		batches = append(batches, fmt.Sprint(causes))
	}
	together := []string{requests["a"], requests["b"], requests["c"]}
	slices.Sort(together)
	if want := []string{fmt.Sprint([]string{requests["first"]}), fmt.Sprint(together)}; !slices.Equal(batches, want) {
		t.Errorf("batches link to %q, not %q", batches, want)
	}
	for name, want := range map[string]int{"Commit": 4, "Queue": 4, "Law": 4, "Transaction": 2} {
		if got := len(spans.listSpans(name)); got < want {
			t.Errorf("%d spans %s, not %d", got, name, want)
		}
	}
}
