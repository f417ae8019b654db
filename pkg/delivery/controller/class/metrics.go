// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/pkg/delivery/schedule"
	"kubi.zone/kubizone/pkg/kit/samples"
)

type Metrics struct {
	status atomic.Pointer[func() []schedule.ClassStatus]

	calls, drifted, fenced *metrics.CounterVec
	lag                    *metrics.HistogramVec
}

var _ schedule.Metrics = (*Metrics)(nil)

var gauges = []struct {
	samples.Metric
	of func(s schedule.ClassStatus) float64
}{
	{newGauge("zones", "Zones that a class delivers, or withdraws."),
		func(s schedule.ClassStatus) float64 { return float64(s.Zones) }},
	{newGauge("queue_depth", "Zones of a class that wait for a worker."),
		func(s schedule.ClassStatus) float64 { return float64(s.Waiting) }},
	{newGauge("failing", "Zones of a class whose last delivery failed."),
		func(s schedule.ClassStatus) float64 { return float64(s.Failing) }},
	{newGauge("paused_seconds", "Time for which the provider of a class still wants to be left alone."),
		func(s schedule.ClassStatus) float64 { return max(0, time.Until(s.PausedUntil).Seconds()) }},
}

func newGauge(name, help string) samples.Metric {
	return samples.New("kubizone_delivery_"+name, help, "class")
}

// NewMetrics registers the metrics. The gauges are read from the Loop's status at each scrape, only while Run runs.
func NewMetrics(registry metrics.KubeRegistry) *Metrics {
	counter := func(name, help string, labels ...string) *metrics.CounterVec {
		return metrics.NewCounterVec(&metrics.CounterOpts{Namespace: "kubizone", Subsystem: "delivery", Name: name, Help: help,
			StabilityLevel: metrics.BETA}, labels)
	}
	m := &Metrics{
		calls: counter("calls_total", "Calls of a class's provider by method and outcome; reason and code, "+
			"which is the provider's own, are empty on success.", "class", "provider", "method", "reason", "code"),
		lag: metrics.NewHistogramVec(&metrics.HistogramOpts{Namespace: "kubizone", Subsystem: "delivery", Name: "lag_seconds",
			Help:           "Time from a serial being seen settled to its confirmation.",
			StabilityLevel: metrics.BETA,
			Buckets:        []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}}, []string{"class"}),
		drifted: counter("drifted_rrsets_total", "RRsets that a comparison found to be missing or differing, "+
			"each once until it is mended, and foreign ones that came since the comparison before.", "class", "kind"),
		fenced: counter("fenced_total", "Deliveries given up because another worker had the zone.", "class"),
	}
	registry.MustRegister(m.calls, m.lag, m.drifted, m.fenced)
	var all []samples.Metric
	for _, one := range gauges {
		all = append(all, one.Metric)
	}
	samples.Register(registry, m.sendSamples, all...)
	return m
}

func (m *Metrics) sendSamples(send samples.Send) {
	status := m.status.Load()
	if status == nil {
		return
	}
	for _, class := range (*status)() {
		for _, one := range gauges {
			send(one.Metric, one.of(class), class.Name)
		}
	}
}

func (m *Metrics) followStatus(status func() []schedule.ClassStatus) (end func()) {
	m.status.Store(&status)
	return func() { m.status.Store(nil) }
}

func (m *Metrics) forgetClass(of string) {
	labels := map[string]string{"class": of}
	m.calls.DeletePartialMatch(labels)
	m.drifted.DeletePartialMatch(labels)
	m.fenced.Delete(labels)
	m.lag.Delete(labels)
}

func (m *Metrics) CountCall(call schedule.Call) {
	m.calls.WithLabelValues(call.Class, call.Provider, call.Method, string(call.Reason), call.Code).Inc()
}

func (m *Metrics) CountDelivery(class string, lag time.Duration) {
	m.lag.WithLabelValues(class).Observe(lag.Seconds())
}

func (m *Metrics) CountDrift(class string, missing, differing, foreign int) {
	for kind, count := range map[string]int{"missing": missing, "differing": differing, "foreign": foreign} {
		m.drifted.WithLabelValues(class, kind).Add(float64(count))
	}
}

func (m *Metrics) CountFenced(class string) { m.fenced.WithLabelValues(class).Inc() }
