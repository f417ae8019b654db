// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apiserver/inventory"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/samples"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed/fromjournal"
)

const measureEvery = 15 * time.Second

// Metrics computes the server's Prometheus metrics when they are scraped. None has a label for namespaces or zones,
// because their number has no bound.
type Metrics struct {
	ledger *ledger.Ledger
	feed   *fromjournal.Source
	zones  *zoneview.Set
	// listGone lists deleted namespaces whose objects remain. The bool is false until Namespaces are listed.
	listGone     func() ([]string, bool)
	certificates inventory.Certificates
	// replicas lists the replicas of other processes by their Leases. Nil outside a pod.
	replicas func() ([]heartbeat.Replica, error)
	// keyCounts has the number of etcd keys with each of countedPrefixes, for example "outbox". It is -1 until counted.
	keyCounts map[string]*atomic.Int64
}

var countedPrefixes = map[string]string{"journal": "", "outbox": "cascade", "debts": "cut", "orphans": "adoption"}

// NewMetrics returns the metrics, registered. The caller sets listGone before the first scrape.
func NewMetrics(registry metrics.KubeRegistry, of *ledger.Ledger, feed *fromjournal.Source, set *zoneview.Set) *Metrics {
	m := &Metrics{ledger: of, feed: feed, zones: set, certificates: inventory.Certificates{}, keyCounts: map[string]*atomic.Int64{}}
	for room := range countedPrefixes {
		m.keyCounts[room] = new(atomic.Int64)
		m.keyCounts[room].Store(-1)
	}
	all := []samples.Metric{certificateMetric, processMetric, waitingMetric}
	for _, one := range serverMetrics {
		all = append(all, one.Metric)
	}
	samples.Register(registry, m.sendSamples, all...)
	return m
}

type metric struct {
	samples.Metric
	value func(m *Metrics) (float64, bool)
}

func counter(name, help string, of func(m *Metrics) int64) metric {
	return metric{samples.New(name, help), func(m *Metrics) (float64, bool) { return float64(of(m)), true }}
}

func gauge(name, help string, of func(m *Metrics) (float64, bool)) metric {
	return metric{samples.New(name, help), of}
}

func loadKnown(n *atomic.Int64) (float64, bool) { v := n.Load(); return float64(v), v >= 0 }

var serverMetrics = []metric{
	counter("kubizone_ledger_transactions_total", "Transactions sent to etcd by writes and cascades.",
		func(m *Metrics) int64 { return m.ledger.Stats().Transactions.Load() }),
	counter("kubizone_ledger_guard_retries_total", "Transactions whose guards did not hold, so that the write was decided anew.",
		func(m *Metrics) int64 { return m.ledger.Stats().Conflicts.Load() }),
	counter("kubizone_ledger_reads_total", "Transactions that only fetched facts.",
		func(m *Metrics) int64 { return m.ledger.Stats().Reads.Load() }),
	counter("kubizone_ledger_panics_total", "Writes and cascades whose decision ended in a panic, by a fault of the server.",
		func(m *Metrics) int64 { return m.ledger.Stats().Panics.Load() }),
	counter("kubizone_cascade_steps_total", "Records and zones decided anew by a cascade of this server.",
		func(m *Metrics) int64 { return m.ledger.Stats().CascadeSteps.Load() }),
	gauge("kubizone_cascade_backlog", "Consequences of writes that are not carried out yet, of all servers on this etcd.",
		func(m *Metrics) (float64, bool) { return loadKnown(m.keyCounts["outbox"]) }),
	gauge("kubizone_journal_transactions", "Transactions of all zones that etcd keeps in the journal.",
		func(m *Metrics) (float64, bool) { return loadKnown(m.keyCounts["journal"]) }),
	gauge("kubizone_journal_held_steps", "Steps of all zones from which this server answers changes and IXFR.",
		func(m *Metrics) (float64, bool) {
			steps, _ := m.zones.Journal()
			return float64(steps), true
		}),
	gauge("kubizone_journal_oldest_seconds", "Age of the oldest step from which this server answers changes and IXFR; 0 while it has none.",
		func(m *Metrics) (float64, bool) {
			if _, oldest := m.zones.Journal(); oldest > 0 {
				return time.Since(time.Unix(oldest, 0)).Seconds(), true
			}
			return 0, true
		}),
	counter("kubizone_view_proofs_failed_total", "Proofs of zones that failed: what is stored is not what its hash says.",
		func(m *Metrics) int64 { _, failed := m.feed.Counts(); return failed }),
	gauge("kubizone_zones_held", "Zones that are not delivered since their own namespace removed too much of them, "+
		"until it is let through (S7.5).", func(m *Metrics) (float64, bool) {
		return float64(m.ledger.HeldZones()), true
	}),
	gauge("kubizone_namespaces_gone", "Namespaces that are gone and have left objects, which are still served; "+
		"kubectl kubizone doctor names them and the command.", func(m *Metrics) (float64, bool) {
		gone, known := m.listGone()
		return float64(len(gone)), known
	}),
	gauge("kubizone_view_frozen_zones", "Zones that cannot be proven at this moment, and are served as they were proven last or "+
		"not at all.", func(m *Metrics) (float64, bool) { frozen, _ := m.feed.Counts(); return float64(frozen), true }),
}

var certificateMetric = samples.New("kubizone_certificate_expiry_timestamp_seconds", "Time at which a certificate of the server "+
	"ends, in seconds since 1970: serving, serving-ca, etcd-client, etcd-ca or etcd-peer; 0 if it cannot be read.", "certificate")

var processMetric = samples.New("kubizone_process_working", "1 while a replica of a process renews its Lease, 0 after the process "+
	"ended; none without a Lease.", "process")
var waitingMetric = samples.New("kubizone_work_waiting", "Work that waits in etcd, of all servers: cascades, cuts that a parent zone "+
	"has not counted, and adoptions of objects in no zone, each under one or two keys.", "kind")

// sendSamples sends all samples of a scrape. A value that is not known yet has no sample, instead of a wrong 0.
func (m *Metrics) sendSamples(send samples.Send) {
	for name := range m.certificates {
		at := 0.0 // unreadable, so an alert fires
		if end, err := m.certificates.EndOf(name); err == nil {
			at = float64(end.Unix())
		}
		send(certificateMetric, at, name)
	}
	m.collectProcesses(send)
	for room, kind := range countedPrefixes {
		if value, known := loadKnown(m.keyCounts[room]); known && kind != "" {
			send(waitingMetric, value, kind)
		}
	}
	for _, one := range serverMetrics {
		if value, known := one.value(m); known {
			send(one.Metric, value)
		}
	}
}

// collectProcesses sends 1 for each process with a working replica, and 0 for a process whose replicas have all ended.
func (m *Metrics) collectProcesses(send samples.Send) {
	if m.replicas == nil {
		return
	}
	replicas, _ := m.replicas() // the last read, after an error
	working := map[string]float64{}
	for _, one := range replicas {
		working[one.Process] = 1
		if one.Ended {
			working[one.Process] = 0 // no replica works
		}
	}
	for process, value := range working {
		send(processMetric, value, process)
	}
}

// serveMetrics serves /metrics with the server's metrics beside the generic apiserver's. DELETE resets both, as in
// kube-apiserver with profiling.
func serveMetrics(paths *mux.PathRecorderMux, own metrics.KubeRegistry, profiling bool) {
	const path = "/metrics"
	both := metrics.HandlerFor(prometheus.Gatherers{legacyregistry.DefaultGatherer, own},
		metrics.HandlerOpts{ProcessStartTime: legacyregistry.GetProcessStart()})
	reset := legacyregistry.HandlerWithReset()
	paths.Unregister(path)
	paths.HandleFunc(path, func(w http.ResponseWriter, request *http.Request) {
		if profiling && request.Method == http.MethodDelete {
			own.Reset()
			reset.ServeHTTP(w, request)
			return
		}
		both.ServeHTTP(w, request)
	})
}

// countKeys counts the keys of each room in etcd each measureEvery, until ctx ends. It never fails: an old count stays.
func (m *Metrics) countKeys(ctx context.Context) error {
	for {
		for room, into := range m.keyCounts {
			asking, cancel := context.WithTimeout(ctx, measureEvery)
			answer, err := m.ledger.Client().Get(asking, m.ledger.Layout().Room(room), clientv3.WithPrefix(), clientv3.WithCountOnly())
			cancel()
			if err != nil {
				klog.FromContext(ctx).V(2).Info("etcd does not report the size of a key range", "room", room, "err", err)
				continue
			}
			into.Store(answer.Count)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(measureEvery):
		}
	}
}
