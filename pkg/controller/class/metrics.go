// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"time"

	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/delivery"
)

// Metrics are those of the deliveries of one process; none has a label for a zone or a Record.
type Metrics struct {
	calls, serials, drifted, fenced, takeovers *metrics.CounterVec
	duration, lag                              *metrics.HistogramVec
}

var _ delivery.Metrics = (*Metrics)(nil)

// NewMetrics makes metrics that are not registered.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *metrics.CounterVec {
		return metrics.NewCounterVec(&metrics.CounterOpts{Namespace: "kubizone", Subsystem: "delivery", Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
	}
	histogram := func(name, help string, labels ...string) *metrics.HistogramVec {
		return metrics.NewHistogramVec(&metrics.HistogramOpts{Namespace: "kubizone", Subsystem: "delivery", Name: name, Help: help, StabilityLevel: metrics.ALPHA,
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}}, labels)
	}
	return &Metrics{
		calls:     counter("calls_total", "Calls of a class's provider by method and outcome; reason is empty on success.", "class", "method", "reason"),
		duration:  histogram("call_duration_seconds", "How long calls of a class's provider took.", "class", "method"),
		serials:   counter("serials_total", "Serials that were confirmed, those that one delivery stepped over included.", "class"),
		lag:       histogram("lag_seconds", "Time from a serial being seen settled to its confirmation.", "class"),
		drifted:   counter("drifted_rrsets_total", "RRsets that a comparison found to be missing, differing or foreign.", "class", "kind"),
		fenced:    counter("fenced_total", "Deliveries given up because another worker had the zone.", "class"),
		takeovers: counter("takeovers_total", "Deliveries taken over from another worker.", "class"),
	}
}

// Registerables are to be registered by whoever serves them.
func (m *Metrics) Registerables() []metrics.Registerable {
	return []metrics.Registerable{m.calls, m.duration, m.serials, m.lag, m.drifted, m.fenced, m.takeovers}
}

// Called counts one call.
func (m *Metrics) Called(class, method string, reason delivery.Reason, took time.Duration) {
	m.calls.WithLabelValues(class, method, string(reason)).Inc()
	m.duration.WithLabelValues(class, method).Observe(took.Seconds())
}

// Delivered counts serials, and how long they took.
func (m *Metrics) Delivered(class string, serials uint32, lag time.Duration) {
	m.serials.WithLabelValues(class).Add(float64(serials))
	m.lag.WithLabelValues(class).Observe(lag.Seconds())
}

// Drifted counts what a comparison found.
func (m *Metrics) Drifted(class string, missing, differing, foreign int) {
	m.drifted.WithLabelValues(class, "missing").Add(float64(missing))
	m.drifted.WithLabelValues(class, "differing").Add(float64(differing))
	m.drifted.WithLabelValues(class, "foreign").Add(float64(foreign))
}

// Fenced counts a delivery that was given up.
func (m *Metrics) Fenced(class string) { m.fenced.WithLabelValues(class).Inc() }

// TakenOver counts a delivery that was another's.
func (m *Metrics) TakenOver(class string) { m.takeovers.WithLabelValues(class).Inc() }
