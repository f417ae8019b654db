// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
