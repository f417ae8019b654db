// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

func readCPU(b *testing.B, pid int) time.Duration {
	text := string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(b))
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	user, system := must.Get(strconv.Atoi(fields[11]))(b), must.Get(strconv.Atoi(fields[12]))(b)
	const tick = 10 * time.Millisecond
	return time.Duration(user+system) * tick
}

// BenchmarkTraces_oneInAHundred compares the CPU time of creates by two servers, with and without traces of one in a
// hundred, in pairs of rounds. Reported is the median of the ratios.
func BenchmarkTraces_oneInAHundred(b *testing.B) {
	c := rig.Need(shared())(b)
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	b.Cleanup(cancel)
	dir := b.TempDir()
	collector := rig.NeedServer(rig.StartCollector(ctx, dir))(b)
	file := filepath.Join(dir, "tracing.yaml")
	must.Succeed(b, os.WriteFile(file, fmt.Appendf(nil, "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"+
		"endpoint: %s\nsamplingRatePerMillion: 10000\n", collector.Addr), 0o600))
	const round, workers = 1000, 4
	var runs []func() time.Duration
	for name, args := range map[string][]string{"off": nil, "on": {"--tracing-config-file", file}} {
		server := must.Get(kuberig.StartServer(ctx, filepath.Join(dir, name), kuberig.ServerConfig{
			Program: c.kubizone, Kube: c.kube, Kubeconfig: c.kubeconfig, Etcd: c.etcd.Endpoint, Serving: c.serving,
			Args: append(args, "--namespace-budget=written=1Gi"),
		}))(b)
		b.Cleanup(func() { _ = server.Close() })
		namespace := "traces-" + name
		must.Succeed(b, c.kube.Namespace(ctx, namespace))
		config := must.Get(server.Direct(c.kube.AdminKubeconfig()))(b)
		config.QPS = -1
		client := httpClient(b, config)
		post := func(kind, body string) {
			at := config.Host + "/apis/kubi.zone/v1alpha1/namespaces/" + namespace + "/" + kind
			request := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(body)))(b)
			request.Header.Set("Content-Type", "application/json")
			response := must.Get(client.Do(request))(b)
			response.Body.Close()
			if response.StatusCode != http.StatusCreated {
				b.Fatalf("%s: %s", kind, response.Status)
			}
		}
		post("zones", fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"main"},"spec":{
			"domainName":"%[1]s.example.","nameServers":[{"name":"ns.example.net."}],
			"delegations":[{"namespace":%[1]q,"records":[{"pattern":"*"}]}]}}`, namespace))
		var next atomic.Int64
		run := func() time.Duration {
			before := readCPU(b, server.Pid())
			var all sync.WaitGroup
			for range workers {
				all.Go(func() {
					for range round / workers {
						post("records", fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"r%[1]d"},
							"spec":{"domainName":"r%[1]d","zoneRef":{"name":"main"},"type":"A","rdata":"192.0.2.1"}}`, next.Add(1)))
					}
				})
			}
			all.Wait()
			return readCPU(b, server.Pid()) - before
		}
		run() // warm
		if name == "off" {
			runs = slices.Insert(runs, 0, run)
		} else {
			runs = append(runs, run)
		}
	}
	var ratios []float64
	var spent [2]time.Duration
	for i := 0; b.Loop(); i++ {
		var took [2]time.Duration
		for _, at := range [][]int{{0, 1}, {1, 0}}[i%2] {
			took[at] = runs[at]()
			spent[at] += took[at]
		}
		ratios = append(ratios, float64(took[1])/float64(took[0]))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "of-off")
	b.ReportMetric(spent[1].Seconds()/spent[0].Seconds(), "sum-of-off")
	b.ReportMetric(spent[0].Seconds()*1e6/float64(b.N*round), "cpu-us/create")
	b.ReportMetric(float64(len(collector.Spans())), "spans")
}
