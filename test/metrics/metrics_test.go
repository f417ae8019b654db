// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/cmd/kubizone/dnsserving"
	"kubi.zone/kubizone/cmd/kubizone/fleet"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/apiserver/budget"
	"kubi.zone/kubizone/pkg/apiserver/judge"
	"kubi.zone/kubizone/pkg/bind9/agents"
	"kubi.zone/kubizone/pkg/bind9/signing"
	"kubi.zone/kubizone/pkg/delivery/controller/class"
	"kubi.zone/kubizone/pkg/zone/etcd/maintenance"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed/fromapi"
	"kubi.zone/kubizone/test/must"
)

// registering lists the packages with metrics and the processes that link them. Such a package must also be in the
// import table's list (test/house/imports_test.go).
var registering = []struct {
	register  func(metrics.KubeRegistry)
	processes []string
}{
	{func(r metrics.KubeRegistry) { apiserver.NewMetrics(r, nil, nil, nil) }, []string{"apiserver", "up"}},
	{func(r metrics.KubeRegistry) { budget.NewMetrics(r, nil) }, []string{"apiserver", "up"}},
	{func(r metrics.KubeRegistry) { maintenance.NewMetrics(r) }, []string{"apiserver", "up"}},
	{func(r metrics.KubeRegistry) { class.NewMetrics(r) }, []string{"controller", "up"}},
	{func(r metrics.KubeRegistry) { agents.NewMetrics(r, nil) }, []string{"controller", "up"}},
	{func(r metrics.KubeRegistry) { signing.NewMetrics(r) }, []string{"controller", "up"}},
	{func(r metrics.KubeRegistry) { fleet.NewMetrics(r, nil) }, []string{"fleet"}},
	{func(r metrics.KubeRegistry) { judge.NewMetrics(r) }, []string{"apiserver", "up"}},
	{func(r metrics.KubeRegistry) { dnsserving.NewMetrics(r, nil) }, []string{"primary", "up"}},
	{func(r metrics.KubeRegistry) { fromapi.NewMetrics(r) }, []string{"controller", "primary"}},
}

type recorder struct {
	metrics.KubeRegistry
	t     *testing.T
	found map[string]Metric
	of    []string // processes
}

func (r *recorder) MustRegister(all ...metrics.Registerable) {
	r.KubeRegistry.MustRegister(all...)
	for _, one := range all {
		// *metrics.CounterVec, *metrics.Counter
		kind := strings.ToLower(strings.TrimSuffix(reflect.TypeOf(one).Elem().Name(), "Vec"))
		r.noteCollector(one, func(string) string { return kind })
	}
}

func (r *recorder) CustomMustRegister(all ...metrics.StableCollector) {
	r.KubeRegistry.CustomMustRegister(all...)
	for _, one := range all {
		// A metric collected on request has no type before. The name determines the type, and Check compares with
		// /metrics.
		r.noteCollector(one, func(name string) string {
			if strings.HasSuffix(name, "_total") {
				return "counter"
			}
			return "gauge"
		})
	}
}

// described matches prometheus' text of a description.
var described = regexp.MustCompile(`^Desc\{fqName: "([a-z_]+)", help: "\[BETA\] ([^"]*)", .*constLabels: \{\}, variableLabels: \{([a-z,]*)\}\}$`)

func (r *recorder) noteCollector(of prometheus.Collector, kind func(name string) string) {
	r.t.Helper()
	descriptions := make(chan *prometheus.Desc, 100)
	of.Describe(descriptions)
	close(descriptions)
	for description := range descriptions {
		found := described.FindStringSubmatch(description.String())
		if found == nil {
			r.t.Fatalf("%s: a metric is BETA, named kubizone_..., and has no constant labels", description)
		}
		one := Metric{Name: found[1], Type: kind(found[1]), Help: found[2], Processes: slices.Clone(r.of)}
		if found[3] != "" {
			one.Labels = strings.Split(found[3], ",")
		}
		if !strings.HasPrefix(one.Name, "kubizone_") || (one.Type == "counter") != strings.HasSuffix(one.Name, "_total") {
			r.t.Errorf("%s: names begin with kubizone_, and those of counters alone end with _total", one)
		}
		if other, twice := r.found[one.Name]; twice {
			one.Processes = append(one.Processes, other.Processes...)
			slices.Sort(one.Processes)
		}
		r.found[one.Name] = one
	}
}

func TestMetrics_areThoseOfTheList(t *testing.T) {
	found := map[string]Metric{}
	for _, one := range registering {
		one.register(&recorder{KubeRegistry: metrics.NewKubeRegistry(), t: t, found: found, of: one.processes})
	}
	if os.Getenv("UPDATE") != "" {
		var lines strings.Builder
		for _, name := range slices.Sorted(maps.Keys(found)) {
			lines.WriteString(found[name].String() + "\n")
		}
		must.Succeed(t, os.WriteFile("testdata/metrics.txt", []byte(lines.String()), 0o644))
		return
	}
	const next = "users' dashboards and alerts go by it; where that is meant, UPDATE=1 go test ./test/metrics writes testdata/metrics.txt, and docs/operations.md gets its row"
	listed := List()
	for name, one := range found {
		if other, is := listed[name]; !is || other.String() != one.String() {
			t.Errorf("registered:\n\t%s\nlisted:\n\t%s\n%s", one, other, next)
		}
	}
	for name, one := range listed {
		if _, is := found[name]; !is {
			t.Errorf("listed and no longer registered:\n\t%s\n%s", one, next)
		}
	}
}

func TestMetrics_standInOperations(t *testing.T) {
	if os.Getenv("UPDATE") != "" {
		t.Skip("the list that is compiled in is the one from before")
	}
	page := must.Get(os.ReadFile("../../docs/operations.md"))(t)
	listed, named := List(), map[string]bool{}
	for _, found := range regexp.MustCompile("`(kubizone_[a-z_]+)(\\{[a-z,]+\\})?`").FindAllStringSubmatch(string(page), -1) {
		one, is := listed[found[1]]
		named[found[1]] = true
		if !is || found[2] != "" && found[2] != "{"+strings.Join(one.Labels, ",")+"}" {
			t.Errorf("docs/operations.md names %s%s, the list has %s", found[1], found[2], one)
		}
	}
	for name := range listed {
		if !named[name] {
			t.Errorf("docs/operations.md does not name %s: give it a row, or name it in one, in the table of the section Metrics", name)
		}
	}
}

// An alert on an unserved metric would be silent for ever.
func TestMetrics_namedInRulesAndPagesExist(t *testing.T) {
	listed, named := List(), 0
	for _, top := range []string{"../../charts", "../../docs"} {
		must.Succeed(t, filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, name := range regexp.MustCompile(`\bkubizone_[a-z_]*[a-z]`).FindAllString(string(text), -1) {
				one, is := listed[name]
				if of, part := histogramOf(name); !is && part {
					one, is = listed[of]
					is = is && one.Type == "histogram"
				}
				if named++; !is {
					t.Errorf("%s names %s, which test/metrics/testdata/metrics.txt does not have", path, name)
				}
			}
			return err
		}))
	}
	if named == 0 {
		t.Error("no rule and no page names a metric")
	}
}

func histogramOf(series string) (name string, is bool) {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, is = strings.CutSuffix(series, suffix); is {
			return name, true
		}
	}
	return series, false
}
