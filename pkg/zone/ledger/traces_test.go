// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

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

// Three of five concurrent writes are sampled. The span of their batch links to each of the three, and the step of each
// has the traceparent of its write. A client's header alone leaves no trace.
func TestTraces_aBatchLinksToEachSampledWrite(t *testing.T) {
	t.Parallel()
	st, spans, g := store.New(t), &spanRecorder{}, &gate{}
	server := st.Server(func(c *ledger.Config) { c.OnFault = g.passPoint })
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

// The span of a cascade is a child of the Commit span of a sampled write. Its steps have no spans, and their journal
// steps have the traceparent of the cascade. Cascades of other writes have no span.
func TestTraces_aCascadeLinksToItsWrite(t *testing.T) {
	t.Parallel()
	st, spans := store.New(t), &spanRecorder{}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	always := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	server := st.Server(func(c *ledger.Config) { c.Traces = provider })
	defer server.Run()()
	store.Must(server.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	const records = 5
	for i := range records {
		name := fmt.Sprint("r", i)
		store.Must(server.CreateRecord(t.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
	}
	adopted := func(want bool) func() bool {
		return func() bool {
			return !slices.ContainsFunc(server.ListRecords("team"), func(r v1alpha1.Record) bool {
				return (r.Status.ZoneRef != nil) != want
			})
		}
	}
	rules := func(ctx context.Context, rules ...v1alpha1.DelegationRule) {
		store.Must(server.WriteZone(ctx, "infra", "z", func(z *v1alpha1.Zone) {
			z.Spec.Delegations, z.Spec.WithdrawalGracePeriod = rules, &metav1.Duration{}
		}))
	}
	rules(t.Context())
	store.Eventually(t, "the Records are released", adopted(false))
	if found := spans.listSpans("Cascade"); len(found) > 0 {
		t.Fatalf("a cascade of no sampled write: %+v", found)
	}
	ctx, request := always.Tracer("").Start(t.Context(), "request")
	rules(ctx, store.Allow("", "*"))
	request.End()
	store.Eventually(t, "the Records are adopted", adopted(true))
	store.Eventually(t, "the cascade has a span", func() bool { return len(spans.listSpans("Cascade")) > 0 })
	commits, cascade := spans.listSpans("Commit"), spans.listSpans("Cascade")
	if len(commits) == 0 || len(cascade) != 1 {
		t.Fatalf("%d commits and %d cascades have spans", len(commits), len(cascade))
	}
	of, commit := cascade[0].Parent(), commits[len(commits)-1] // earlier tries lost to the end of the first cascade
	if of.SpanID() != commit.SpanContext().SpanID() || of.TraceID() != request.SpanContext().TraceID() || len(cascade[0].Links()) != 1 {
		t.Errorf("the cascade is a child of %s with %d links", of.SpanID(), len(cascade[0].Links()))
	}
	traced := 0
	for _, kv := range must.Get(must.Get(st.Connect())(t).Get(t.Context(), st.Prefix+"/ledger/journal/", clientv3.WithPrefix()))(t).Kvs {
		var tx content.Transaction
		must.Succeed(t, layout.Decode(kv.Value, &tx))
		for _, step := range tx.Steps {
			if strings.Contains(step.Trace, cascade[0].SpanContext().SpanID().String()) {
				traced++
			}
		}
	}
	if traced != records {
		t.Errorf("%d of %d steps have the traceparent of the cascade", traced, records)
	}
}
