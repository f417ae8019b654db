// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

type Collector struct {
	Addr netip.AddrPort

	process *Process
	sink    *http.Server
	mu      sync.Mutex
	spans   []Span
	raw     strings.Builder
}

type Span struct {
	Service, Name, TraceID, SpanID, ParentSpanID string
	Start, End                                   time.Time
	Attributes                                   map[string]string
	Links                                        []string // span IDs
}

type exported struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []attribute }
		ScopeSpans []struct {
			Spans []struct {
				TraceID, SpanID, ParentSpanID, Name string
				StartTimeUnixNano, EndTimeUnixNano  json.Number
				Attributes                          []attribute
				Links                               []struct{ SpanID string }
			}
		}
	}
}

type attribute struct {
	Key   string
	Value map[string]any
}

func readAttributes(list []attribute) map[string]string {
	all := map[string]string{}
	for _, one := range list {
		for _, value := range one.Value {
			all[one.Key] = fmt.Sprint(value)
		}
	}
	return all
}

// StartCollector waits for readiness.
func StartCollector(ctx context.Context, dir string) (_ *Collector, err error) {
	program, err := Tool("otelcol")
	if err != nil {
		return nil, err
	}
	c := &Collector{}
	if c.Addr, err = FreePort(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c.sink = &http.Server{Handler: http.HandlerFunc(c.receiveSpans), ReadHeaderTimeout: time.Minute}
	go func() { _ = c.sink.Serve(listener) }()
	file := filepath.Join(dir, "otelcol.yaml")
	text := fmt.Sprintf(`receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}}
exporters: {otlp_http: {endpoint: "http://%s", encoding: json, compression: none}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [otlp_http]}}
`, c.Addr, listener.Addr())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if c.process, err = StartProcess(nil, dir, program, "--config", file); err != nil {
		return nil, err
	}
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", c.Addr.String())
		if err == nil {
			return c, conn.Close()
		}
		if ctx.Err() != nil || time.Since(start) > startTimeout {
			err := fmt.Errorf("otelcol: %w\n%s", err, c.process.Log())
			c.Close()
			return nil, err
		}
	}
}

func (c *Collector) receiveSpans(w http.ResponseWriter, request *http.Request) {
	text, err := io.ReadAll(request.Body)
	var got exported
	if err = errors.Join(err, json.Unmarshal(text, &got)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(text)
	for _, resource := range got.ResourceSpans {
		service := readAttributes(resource.Resource.Attributes)["service.name"]
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				one := Span{Service: service, Name: span.Name, TraceID: span.TraceID, SpanID: span.SpanID, ParentSpanID: span.ParentSpanID,
					Start: readTime(span.StartTimeUnixNano), End: readTime(span.EndTimeUnixNano),
					Attributes: readAttributes(span.Attributes)}
				for _, link := range span.Links {
					one.Links = append(one.Links, link.SpanID)
				}
				c.spans = append(c.spans, one)
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

func readTime(nanos json.Number) time.Time {
	n, _ := nanos.Int64()
	return time.Unix(0, n)
}

// Spans returns the spans so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Raw returns the requests so far.
func (c *Collector) Raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// Tree formats the spans of a trace, each below its parent.
func Tree(spans []Span, traceID string) string {
	spans = slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.TraceID != traceID })
	slices.SortStableFunc(spans, func(a, b Span) int { return a.Start.Compare(b.Start) })
	known, below := map[string]bool{}, map[string][]Span{}
	for _, s := range spans {
		known[s.SpanID] = true
	}
	for _, s := range spans {
		if !known[s.ParentSpanID] {
			s.ParentSpanID = ""
		}
		below[s.ParentSpanID] = append(below[s.ParentSpanID], s)
	}
	var out strings.Builder
	var write func(parent, indent string)
	write = func(parent, indent string) {
		for _, s := range below[parent] {
			fmt.Fprintf(&out, "%7.1f ms %7.2f ms  %-20s %s%s", float64(s.Start.Sub(spans[0].Start).Microseconds())/1000,
				float64(s.End.Sub(s.Start).Microseconds())/1000, s.Service, indent, s.Name)
			if len(s.Links) > 0 {
				fmt.Fprintf(&out, " (%d links)", len(s.Links))
			}
			out.WriteByte('\n')
			write(s.SpanID, indent+"  ")
		}
	}
	write("", "")
	return out.String()
}

// Close ends both.
func (c *Collector) Close() error {
	if c.process != nil {
		c.process.End()
	}
	return c.sink.Close()
}
