// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const (
	alertsFile = chart + "/rules/kubizone.yaml"
	dashboards = chart + "/dashboards/"
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

// By synthetic series in testdata/alerts.yaml, each alert fires on its fault, and none in a healthy installation (M8).
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

// Every alert of the chart has a test in which real processes are in the state that the alert names, and promtool
// judges the alert by their metrics (M8). This test looks for the alert's name in packages that use alertrig.
func TestAlerts_areJudgedByRealProcesses(t *testing.T) {
	judged := map[string]bool{}
	for dir := range walkTests(t) {
		judges, named := false, map[string]bool{}
		for _, file := range must.Get(filepath.Glob(filepath.Join(dir, "*_test.go")))(t) {
			parsed := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
			ast.Inspect(parsed, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, _ := strconv.Unquote(literal.Value)
					judges = judges || strings.HasSuffix(text, "/test/rig/alertrig")
					name, _, _ := strings.Cut(text, " ")
					named[name] = true
				}
				return true
			})
		}
		if judges {
			maps.Copy(judged, named)
		}
	}
	for _, one := range readAlerts(t) {
		if !judged[one.Alert] {
			t.Errorf("no test judges %s: call alertrig.State.Expect while real processes are in the state that it names", one.Alert)
		}
	}
}

func walkTests(t *testing.T) iter.Seq[string] {
	return func(yield func(string) bool) {
		must.Succeed(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && !yield(path) {
				return fs.SkipAll
			}
			return err
		}))
	}
}

// Each alert has a summary, a severity and a link to its section of docs/operations.md, and no section is without an
// alert (M8). test/metrics checks the metrics in alerts.
func TestAlerts_nameSections(t *testing.T) {
	const page = "docs/operations.md"
	sections := map[string]bool{}
	text := string(must.Get(os.ReadFile("../../" + page))(t))
	for _, heading := range regexp.MustCompile(`(?m)^### (Kubizone\w+)$`).FindAllStringSubmatch(text, -1) {
		sections[heading[1]] = true
	}
	for _, one := range readAlerts(t) {
		link := one.Annotations["runbook_url"]
		if !strings.HasSuffix(link, "/blob/main/"+page+"#"+strings.ToLower(one.Alert)) || !sections[one.Alert] {
			t.Errorf("%s: %s has a section %t, and the link is %s", one.Alert, page, sections[one.Alert], link)
		}
		delete(sections, one.Alert)
		if one.Annotations["summary"] == "" || one.Labels["severity"] == "" {
			t.Errorf("%s has no summary or no severity", one.Alert)
		}
	}
	for section := range sections {
		t.Errorf("%s: %s is no alert", page, section)
	}
}

// Each promise has a test, and its series and alert exist.
func TestPromises_areMeasured(t *testing.T) {
	alerts, tests := map[string]bool{}, map[string]bool{}
	for _, one := range readAlerts(t) {
		alerts[one.Alert] = true
	}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, root := range []string{"../../cmd", "../../pkg", ".."} {
		must.Succeed(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, "_test.go") {
				for _, found := range function.FindAllSubmatch(must.Get(os.ReadFile(path))(t), -1) {
					tests[string(found[1])] = true
				}
			}
			return err
		}))
	}
	series := string(must.Get(os.ReadFile("../metrics/testdata/metrics.txt"))(t))
	page := string(must.Get(os.ReadFile("../../docs/promises.md"))(t))
	rows := regexp.MustCompile(`(?m)^\| ([^|]*[a-z][^|]*)\|[^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|$`).FindAllStringSubmatch(page, -1)
	if len(rows) < 10 {
		t.Fatalf("the page has %d rows", len(rows))
	}
	names := func(cell string) []string {
		return strings.Fields(strings.NewReplacer("`", " ", ",", " ").Replace(cell))
	}
	for _, row := range rows[1:] {
		for _, name := range names(row[2]) {
			if strings.HasPrefix(name, "kubizone_") && !regexp.MustCompile(`(?m)^`+name+`[ {]`).MatchString(series) {
				t.Errorf("%s: there is no series %s", row[1], name)
			}
		}
		for _, name := range names(row[3]) {
			if !alerts[name] {
				t.Errorf("%s: there is no alert %s", row[1], name)
			}
		}
		measured := names(row[4])
		if len(measured) == 0 {
			t.Errorf("%s: no test", row[1])
		}
		for _, name := range measured {
			if !tests[name] {
				t.Errorf("%s: there is no test %s", row[1], name)
			}
		}
	}
}
