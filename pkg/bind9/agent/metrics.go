// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// counters are the agent's metrics, in the text format of Prometheus. They are few, and the program beside each named
// stays small without the library.
type counters struct {
	mu       sync.Mutex
	requests map[string]uint64 // by their labels
	seconds  map[string]float64
	commands map[string]uint64
}

func newCounters() *counters {
	return &counters{requests: map[string]uint64{}, seconds: map[string]float64{}, commands: map[string]uint64{}}
}

// countRequest counts by route, not by path: names of zones are no labels.
func (c *counters) countRequest(route route, status int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	labels := fmt.Sprintf("method=%q,route=%q", route.method, route.path)
	c.requests[labels+",code="+strconv.Quote(strconv.Itoa(status))]++
	c.seconds[labels] += took.Seconds()
}

func (c *counters) countCommand(command string, err error) {
	word, _, _ := strings.Cut(command, " ")
	result := "ok"
	if err != nil {
		result = "error"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands[fmt.Sprintf("command=%q,result=%q", word, result)]++
}

func (a *Agent) serveMetrics(w http.ResponseWriter, _ *work) (int, any, error) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(a.metrics.writeText(a.config.Version)))
	return http.StatusOK, nil, nil
}

func (c *counters) writeText(version string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out strings.Builder
	head := func(metric, kind, help string) {
		fmt.Fprintf(&out, "# HELP %[1]s %[3]s\n# TYPE %[1]s %[2]s\n", metric, kind, help)
	}
	head("kubizone_bindagent_info", "gauge", "The version of the agent; the value is 1.")
	fmt.Fprintf(&out, "kubizone_bindagent_info{version=%q} 1\n", version)
	head("kubizone_bindagent_requests_total", "counter", "Requests, by method, route and code of the answer.")
	for _, labels := range slices.Sorted(maps.Keys(c.requests)) {
		fmt.Fprintf(&out, "kubizone_bindagent_requests_total{%s} %d\n", labels, c.requests[labels])
	}
	head("kubizone_bindagent_request_seconds_total", "counter", "Seconds that requests took, by method and route.")
	for _, labels := range slices.Sorted(maps.Keys(c.seconds)) {
		fmt.Fprintf(&out, "kubizone_bindagent_request_seconds_total{%s} %g\n", labels, c.seconds[labels])
	}
	head("kubizone_bindagent_commands_total", "counter", "Commands to named's control channel, by their first word and result.")
	for _, labels := range slices.Sorted(maps.Keys(c.commands)) {
		fmt.Fprintf(&out, "kubizone_bindagent_commands_total{%s} %d\n", labels, c.commands[labels])
	}
	return out.String()
}
