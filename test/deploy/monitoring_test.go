// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/test/metrics"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const (
	alertsFile    = chart + "/rules/kubizone.yaml"
	dashboardFile = chart + "/dashboards/kubizone.json"
)

func runPromtool(t *testing.T, arguments ...string) {
	t.Helper()
	program := rig.Need(rig.Find("promtool", "hack/install-peers.sh"))(t)
	if out, err := exec.CommandContext(t.Context(), program, arguments...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

type alert struct {
	Alert       string
	Labels      map[string]string
	Annotations map[string]string
}

func readAlerts(t *testing.T) []alert {
	t.Helper()
	text := must.Get(os.ReadFile(alertsFile))(t)
	var file struct{ Groups []struct{ Rules []alert } }
	must.Succeed(t, yaml.Unmarshal(text, &file))
	return file.Groups[0].Rules
}

// M8: an alert is quiet in a healthy installation, and fires on its fault.
func TestAlerts_ring(t *testing.T) {
	const tests = "testdata/alerts.yaml"
	runPromtool(t, "check", "rules", alertsFile)
	runPromtool(t, "test", "rules", tests)
	text := must.Get(os.ReadFile(tests))(t)
	for _, one := range readAlerts(t) {
		if !strings.Contains(string(text), `{alertname="`+one.Alert+`"`) {
			t.Errorf("%s has no case of %s", tests, one.Alert)
		}
	}
}

// M8: an alert links to a section of the documents. test/metrics checks that its metrics exist.
func TestAlerts_nameSections(t *testing.T) {
	const site = "https://github.com/kubi-zone/kubizone/blob/main/"
	for _, one := range readAlerts(t) {
		page, section, _ := strings.Cut(strings.TrimPrefix(one.Annotations["runbook_url"], site), "#")
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Errorf("%s: %v", one.Alert, err)
			continue
		}
		sections := map[string]bool{}
		for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
			sections[strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")] = true
		}
		if !sections[section] {
			t.Errorf("%s: %s has no section #%s", one.Alert, page, section)
		}
		if one.Annotations["summary"] == "" || one.Labels["severity"] == "" {
			t.Errorf("%s has no summary or no severity", one.Alert)
		}
	}
}

// sections are the dashboard's rows, by prefix of the names; the last row has the rest.
var sections = []struct{ title, prefix string }{
	{"Delivery", "delivery_"}, {"Primary", "primary_"}, {"etcd", "etcd_"}, {"Budgets of namespaces", "namespace_"}, {"API server", ""},
}

type panel struct {
	Title       string         `json:"title"`
	Type        string         `json:"type"`
	Description string         `json:"description,omitempty"`
	Grid        map[string]int `json:"gridPos"`
	Datasource  any            `json:"datasource,omitempty"`
	FieldConfig any            `json:"fieldConfig,omitempty"`
	Options     any            `json:"options,omitempty"`
	Targets     []target       `json:"targets,omitempty"`
}

type target struct {
	Expr   string `json:"expr"`
	Legend string `json:"legendFormat"`
	RefID  string `json:"refId"`
}

func makeDashboard() []byte {
	source := map[string]string{"type": "prometheus", "uid": "${datasource}"}
	var panels []panel
	y := 0
	left := metrics.List()
	for _, section := range sections {
		var names []string
		for name := range left {
			if strings.HasPrefix(name, "kubizone_"+section.prefix) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		panels = append(panels, panel{Title: section.title, Type: "row", Grid: map[string]int{"h": 1, "w": 24, "x": 0, "y": y}})
		y++
		const columns, height = 3, 7
		for i, name := range names {
			metric := left[name]
			delete(left, name)
			expressions, unit := expressionsOf(metric)
			one := panel{
				Title: strings.TrimPrefix(name, "kubizone_"), Type: "timeseries", Description: metric.Help,
				Grid:        map[string]int{"h": height, "w": 24 / columns, "x": i % columns * (24 / columns), "y": y + i/columns*height},
				Datasource:  source,
				FieldConfig: map[string]any{"defaults": map[string]any{"unit": unit, "min": 0}, "overrides": []any{}},
				Options:     map[string]any{"legend": map[string]any{"displayMode": "list", "placement": "bottom"}, "tooltip": map[string]any{"mode": "multi"}},
			}
			for n, expression := range expressions {
				one.Targets = append(one.Targets, target{Expr: expression[1], Legend: expression[0], RefID: string(rune('A' + n))})
			}
			panels = append(panels, one)
		}
		y += (len(names) + columns - 1) / columns * height
	}
	all := map[string]any{
		"title": "Kubizone", "uid": "kubizone", "tags": []string{"kubizone", "dns"}, "schemaVersion": 39, "editable": true, "refresh": "30s",
		"time": map[string]string{"from": "now-6h", "to": "now"},
		"templating": map[string]any{"list": []any{
			map[string]any{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			map[string]any{
				"name": "class", "label": "Class", "type": "query", "datasource": source, "query": "label_values(kubizone_delivery_zones, class)",
				"includeAll": true, "allValue": ".*", "multi": true, "refresh": 2,
			},
		}},
		"panels": panels,
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(all); err != nil {
		panic(err) // values made here always encode
	}
	return out.Bytes()
}

// expressionsOf returns the expressions of a metric's panel, with legend and unit: the rate of a counter, quantiles
// of a histogram, the maximum of a gauge over processes.
func expressionsOf(metric metrics.Metric) (expressions [][2]string, unit string) {
	selector, by, legend := "", slices.Clone(metric.Labels), []string{}
	for _, label := range metric.Labels {
		legend = append(legend, "{{"+label+"}}")
	}
	if slices.Contains(by, "class") {
		selector = `{class=~"$class"}`
	}
	switch {
	case strings.HasSuffix(metric.Name, "_bytes"), strings.HasSuffix(metric.Name, "_bytes_total"):
		unit = "bytes"
	case strings.HasSuffix(metric.Name, "_seconds"):
		unit = "s"
	default:
		unit = "short"
	}
	switch metric.Type {
	case "counter":
		if unit == "bytes" {
			unit = "Bps"
		} else {
			unit = "ops"
		}
		expression := fmt.Sprintf("sum(rate(%s%s[$__rate_interval]))", metric.Name, selector)
		if len(by) > 0 {
			expression = fmt.Sprintf("sum by (%s) (rate(%s%s[$__rate_interval]))", strings.Join(by, ", "), metric.Name, selector)
		}
		return [][2]string{{strings.Join(legend, " "), expression}}, unit
	case "histogram":
		for _, quantile := range []string{"0.99", "0.5"} {
			expressions = append(expressions, [2]string{
				strings.Join(append(legend, quantile), " "),
				fmt.Sprintf("histogram_quantile(%s, sum by (%s) (rate(%s_bucket%s[$__rate_interval])))", quantile, strings.Join(append(by, "le"), ", "), metric.Name, selector),
			})
		}
		return expressions, unit
	default:
		if len(by) == 0 {
			by, legend = []string{"instance"}, []string{"{{instance}}"}
		}
		return [][2]string{{strings.Join(legend, " "), fmt.Sprintf("max by (%s) (%s%s)", strings.Join(by, ", "), metric.Name, selector)}}, unit
	}
}

// M8: the dashboard shows every metric of the list.
func TestChart_dashboardHasEveryMetric(t *testing.T) {
	want := makeDashboard()
	got, err := os.ReadFile(dashboardFile)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not of the metrics in test/metrics/testdata/metrics.txt (%v): run go test ./test/deploy -run Chart -update", dashboardFile, err)
	}
	var read struct{ Panels []panel }
	must.Succeed(t, json.Unmarshal(got, &read))
	var rules []string
	for _, one := range read.Panels {
		for _, target := range one.Targets {
			rules = append(rules, fmt.Sprintf("  - {record: 'panel:%d', expr: '%s'}", len(rules), strings.NewReplacer("$__rate_interval", "5m", "$class", ".*").Replace(target.Expr)))
		}
	}
	// promtool reads expressions in rules.
	file := filepath.Join(t.TempDir(), "panels.yaml")
	must.Succeed(t, os.WriteFile(file, []byte("groups:\n- name: panels\n  rules:\n"+strings.Join(rules, "\n")+"\n"), 0o600))
	runPromtool(t, "check", "rules", file)
}
