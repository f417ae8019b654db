// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/metrics"
	"kubi.zone/kubizone/test/must"
)

// sections are the rows of the platform's dashboard after the first, by prefix of the names; the last row has the rest.
var sections = []struct{ title, prefix string }{
	{"Delivery", "delivery_"}, {"DNSSEC", "dnssec_"}, {"Fleet", "fleet_"}, {"Primary", "primary_"}, {"etcd", "etcd_"},
	{"Namespaces", "namespace_"}, {"API server", ""},
}

// summary is the first row: an operator on call sees whether anything waits.
var summary = []struct {
	title, unit, description string
	targets                  [][2]string
}{
	{"Classes behind", "short", "Classes with an unconfirmed change. 0: all zones are current.", [][2]string{
		{"", "count(max by (class) (kubizone_delivery_oldest_change_seconds) > 0) or vector(0)"}}},
	{"Write to server, p99", "s", "Time from a settled serial to its confirmation, of the last hour.", [][2]string{
		{"", "histogram_quantile(0.99, sum by (le) (rate(kubizone_delivery_lag_seconds_bucket[1h])))"}}},
	{"Oldest unconfirmed", "s", "Age of the oldest change that a class has not confirmed.", [][2]string{
		{"", "max(kubizone_delivery_oldest_change_seconds)"}}},
	{"Held, frozen, paused", "short", "Zones held or frozen, and Records of paused zones and classes.", [][2]string{
		{"held", "max(kubizone_zones_held)"}, {"frozen", "max(kubizone_view_frozen_zones)"},
		{"paused", `sum(max by (reason) (kubizone_records_waiting{reason=~"Paused|ClassPaused"})) or vector(0)`}}},
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

var source = map[string]string{"type": "prometheus", "uid": "${datasource}"}

// page is a dashboard in progress: panels, and the line of the next.
type page struct {
	panels []panel
	y      int
}

func (p *page) addRow(title string) {
	p.panels = append(p.panels, panel{Title: title, Type: "row", Grid: map[string]int{"h": 1, "w": 24, "x": 0, "y": p.y}})
	p.y++
}

func (p *page) addPanels(columns, height int, all []panel) {
	for i, one := range all {
		one.Datasource = source
		one.Grid = map[string]int{"h": height, "w": 24 / columns, "x": i % columns * (24 / columns), "y": p.y + i/columns*height}
		p.panels = append(p.panels, one)
	}
	p.y += (len(all) + columns - 1) / columns * height
}

func targetsOf(expressions [][2]string) (all []target) {
	for n, expression := range expressions {
		all = append(all, target{Expr: expression[1], Legend: expression[0], RefID: string(rune('A' + n))})
	}
	return all
}

func summarize() (all []panel) {
	for _, one := range summary {
		all = append(all, panel{
			Title: one.title, Type: "stat", Description: one.description, Targets: targetsOf(one.targets),
			FieldConfig: map[string]any{"defaults": map[string]any{"unit": one.unit, "min": 0, "noValue": "0"}, "overrides": []any{}},
			Options:     map[string]any{"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}}},
		})
	}
	return all
}

func panelOf(metric metrics.Metric, variables ...string) panel {
	expressions, unit := expressionsOf(metric, variables...)
	return panel{
		Title: strings.TrimPrefix(metric.Name, "kubizone_"), Type: "timeseries", Description: metric.Help, Targets: targetsOf(expressions),
		FieldConfig: map[string]any{"defaults": map[string]any{"unit": unit, "min": 0}, "overrides": []any{}},
		Options: map[string]any{"legend": map[string]any{"displayMode": "list", "placement": "bottom"},
			"tooltip": map[string]any{"mode": "multi"}},
	}
}

func makePlatform() []byte {
	var p page
	p.addRow("Now")
	p.addPanels(len(summary), 4, summarize())
	left := metrics.List()
	for _, section := range sections {
		var all []panel
		for _, name := range slices.Sorted(maps.Keys(left)) {
			if strings.HasPrefix(name, "kubizone_"+section.prefix) {
				all = append(all, panelOf(left[name], "class"))
				delete(left, name)
			}
		}
		p.addRow(section.title)
		p.addPanels(3, 7, all)
	}
	return p.encode("Kubizone", "kubizone", "class", "label_values(kubizone_delivery_zones, class)")
}

// makeTeam shows the metrics that name a namespace. A namespace is only in those of which it is among the ten worst.
func makeTeam() []byte {
	var p page
	var all []panel
	listed := metrics.List()
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if slices.Contains(listed[name].Labels, "namespace") {
			all = append(all, panelOf(listed[name], "namespace"))
		}
	}
	p.addPanels(3, 7, all)
	return p.encode("Kubizone: namespace", "kubizone-namespace", "namespace", "label_values(kubizone_namespace_stored_bytes, namespace)")
}

func (p *page) encode(title, uid, variable, query string) []byte {
	all := map[string]any{
		"title": title, "uid": uid, "tags": []string{"kubizone", "dns"}, "schemaVersion": 39, "editable": true, "refresh": "30s",
		"time": map[string]string{"from": "now-6h", "to": "now"},
		"templating": map[string]any{"list": []any{
			map[string]any{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			map[string]any{
				"name": variable, "label": strings.ToUpper(variable[:1]) + variable[1:], "type": "query", "datasource": source, "query": query,
				"includeAll": true, "allValue": ".*", "multi": true, "refresh": 2,
			},
		}},
		"panels": p.panels,
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
// of a histogram, the time to an expiry or since a time, the maximum of another gauge over processes.
func expressionsOf(metric metrics.Metric, variables ...string) (expressions [][2]string, unit string) {
	selector, by, legend := "", slices.Clone(metric.Labels), []string{}
	for _, label := range metric.Labels {
		legend = append(legend, "{{"+label+"}}")
	}
	for _, variable := range variables {
		if slices.Contains(by, variable) {
			selector = fmt.Sprintf(`{%s=~"$%s"}`, variable, variable)
		}
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
		switch series := metric.Name + selector; {
		case strings.HasSuffix(metric.Name, "_expiry_timestamp_seconds"):
			return [][2]string{{strings.Join(legend, " "), fmt.Sprintf("min by (%s) (%s) - time()", strings.Join(by, ", "), series)}}, unit
		case strings.HasSuffix(metric.Name, "_timestamp_seconds"):
			return [][2]string{{strings.Join(legend, " "), fmt.Sprintf("time() - max by (%s) (%s > 0)", strings.Join(by, ", "), series)}}, unit
		}
		return [][2]string{{strings.Join(legend, " "), fmt.Sprintf("max by (%s) (%s%s)", strings.Join(by, ", "), metric.Name, selector)}}, unit
	}
}

// The dashboards are generated from the list of metrics: the platform's shows all of them, a team's those of a
// namespace (M8). promtool parses every query.
func TestChart_dashboardsHaveEveryMetric(t *testing.T) {
	var rules []string
	for name, want := range map[string][]byte{"kubizone.json": makePlatform(), "namespace.json": makeTeam()} {
		got, err := os.ReadFile(dashboards + name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not of the metrics in test/metrics/testdata/metrics.txt (%v): run go test ./test/deploy -run Chart -update", name, err)
		}
		var read struct{ Panels []panel }
		must.Succeed(t, json.Unmarshal(got, &read))
		for _, one := range read.Panels {
			for _, target := range one.Targets {
				expression := strings.NewReplacer("$__rate_interval", "5m", "$class", ".*", "$namespace", ".*").Replace(target.Expr)
				rules = append(rules, fmt.Sprintf("  - {record: 'panel:%d', expr: '%s'}", len(rules), expression))
			}
		}
	}
	// promtool reads expressions in rules.
	file := filepath.Join(t.TempDir(), "panels.yaml")
	must.Succeed(t, os.WriteFile(file, []byte("groups:\n- name: panels\n  rules:\n"+strings.Join(rules, "\n")+"\n"), 0o600))
	runPromtool(t, "check", "rules", file)
}
