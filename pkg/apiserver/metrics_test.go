// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/server/mux"
	etcdmetrics "k8s.io/apiserver/pkg/storage/etcd3/metrics"
	"k8s.io/component-base/metrics"
)

// Two servers may run in one process, as in tests. Each serves its own metrics and those of the Kubernetes libraries,
// not the other server's. DELETE resets the metrics only with profiling, as in upstream.
func TestServeMetrics_showsThoseOfOneServer(t *testing.T) {
	// Upstream's metrics would query the etcd of the last server, which may have ended.
	etcdmetrics.SetStorageMonitorGetter(func() ([]etcdmetrics.Monitor, error) { return nil, nil })
	for _, profiling := range []bool{false, true} {
		var writes [2]*metrics.CounterVec
		own := [2]*mux.PathRecorderMux{mux.NewPathRecorderMux("first"), mux.NewPathRecorderMux("second")}
		for i, paths := range own {
			registry := metrics.NewKubeRegistry()
			writes[i] = metrics.NewCounterVec(&metrics.CounterOpts{Name: "kubizone_writes", Help: "Writes.", StabilityLevel: metrics.BETA}, []string{"resource"})
			registry.MustRegister(writes[i])
			serveMetrics(paths, registry, profiling)
		}
		read := func(i int, method string) string {
			answer := httptest.NewRecorder()
			own[i].ServeHTTP(answer, httptest.NewRequest(method, "/metrics", nil))
			return answer.Body.String()
		}
		writes[0].WithLabelValues("zones").Add(1)
		writes[1].WithLabelValues("zones").Add(2)
		for i, want := range []string{"\nkubizone_writes{resource=\"zones\"} 1\n", "\nkubizone_writes{resource=\"zones\"} 2\n"} {
			if got := read(i, "GET"); !strings.Contains(got, want) || !strings.Contains(got, "\ngo_goroutines ") {
				t.Errorf("server %d has no %q, or nothing of upstream:\n%s", i, want, got)
			}
		}
		if got := read(0, "DELETE"); strings.Contains(got, "kubizone_writes") == profiling {
			t.Errorf("profiling %v, DELETE: %q", profiling, got)
		}
		if got := read(0, "GET"); strings.Contains(got, "kubizone_writes") == profiling {
			t.Errorf("profiling %v, after DELETE:\n%s", profiling, got)
		}
	}
}
