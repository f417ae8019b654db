// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const notify = "../../artifacts/notify/"

// channel is a chat with Slack's webhooks.
type channel struct {
	*httptest.Server
	mu       sync.Mutex
	messages []string
}

func openChannel(t *testing.T) *channel {
	c := &channel{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var message struct {
			Attachments []struct{ Title, Text string }
		}
		if err := json.NewDecoder(request.Body).Decode(&message); err != nil || len(message.Attachments) != 1 {
			http.Error(w, "no message", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.messages = append(c.messages, message.Attachments[0].Title+": "+message.Attachments[0].Text)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *channel) hasMessage(title, text string) func() bool {
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, message := range c.messages {
			if strings.HasPrefix(message, title+": ") && strings.Contains(message, text) {
				return true
			}
		}
		return false
	}
}

// startAlertmanager runs Alertmanager with the shipped configuration, to another address and without its wait.
func startAlertmanager(t *testing.T, to string) (url string) {
	t.Helper()
	dir, at := t.TempDir(), must.Get(rig.FreePort())(t)
	text := string(must.Get(os.ReadFile(notify + "alertmanager.yaml"))(t))
	text = strings.Replace(text, "https://hooks.slack.com/services/YOUR/WEB/HOOK", to, 1)
	text = strings.Replace(text, "group_wait: 10s", "group_wait: 0s", 1)
	file := filepath.Join(dir, "alertmanager.yaml")
	must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	program := rig.Need(rig.Find("prometheus-alertmanager", "hack/install-peers.sh"))(t)
	rig.RunProcess(t, program, "--config.file", file, "--storage.path", dir, "--web.listen-address", at.String(),
		"--cluster.listen-address=")
	url = "http://" + at.String()
	waitUntil(t, "Alertmanager is ready", func() bool {
		response, err := http.Get(url + "/-/ready")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	return url
}

// startPrometheus scrapes the server, and judges the rules of the chart and of the recipe at once instead of after
// minutes.
func (c *cluster) startPrometheus(t *testing.T, alertmanager string) {
	t.Helper()
	dir, at := t.TempDir(), must.Get(rig.FreePort())(t)
	var files []string
	for i, source := range []string{"../../charts/kubizone/rules/kubizone.yaml", notify + "rules.yaml"} {
		text := regexp.MustCompile(`(?m)^    for: .*$`).ReplaceAll(must.Get(os.ReadFile(source))(t), nil)
		files = append(files, filepath.Join(dir, fmt.Sprint("rules", i, ".yaml")))
		must.Succeed(t, os.WriteFile(files[i], text, 0o600))
	}
	config := must.Get(c.server.Direct(c.kube.AdminKubeconfig()))(t)
	for name, text := range map[string][]byte{"ca": config.CAData, "cert": config.CertData, "key": config.KeyData} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	text := must.Get(yaml.Marshal(map[string]any{
		"global":     map[string]string{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": files,
		"alerting": map[string]any{"alertmanagers": []any{map[string]any{"static_configs": []any{
			map[string]any{"targets": []string{strings.TrimPrefix(alertmanager, "http://")}}}}}},
		"scrape_configs": []any{map[string]any{
			"job_name": kuberig.ServerName, "scheme": "https",
			"static_configs": []any{map[string]any{"targets": []string{c.server.Addr.String()}}},
			"tls_config": map[string]string{"ca_file": filepath.Join(dir, "ca"), "cert_file": filepath.Join(dir, "cert"),
				"key_file": filepath.Join(dir, "key")},
		}},
	}))(t)
	file := filepath.Join(dir, "prometheus.yaml")
	must.Succeed(t, os.WriteFile(file, text, 0o600))
	program := rig.Need(rig.Find("prometheus", "hack/install-peers.sh"))(t)
	rig.RunProcess(t, program, "--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address",
		at.String())
}

// What holds a zone, takes a rule, refuses a Record or changes much of a zone comes to a channel, by the shipped
// configuration, rules and script, through a real Prometheus and Alertmanager.
func TestNotify_reachesAChannel(t *testing.T) {
	c := requireCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*waitTimeout)
	defer cancel()
	chat := openChannel(t)
	alertmanager := startAlertmanager(t, chat.URL)
	c.startPrometheus(t, alertmanager)
	kubectl := func(stdin string, args ...string) {
		t.Helper()
		kubectlAs(t, c, c.kube.AdminKubeconfig(), stdin, args...)
	}
	must.Succeed(t, c.kube.Namespace(ctx, "notified"))
	must.Succeed(t, c.kube.Namespace(ctx, "notified-team"))
	kubectl(`
{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: main, namespace: notified}, spec: {domainName: notified.example.,
  delegations: [{namespace: notified, records: [{pattern: "@", types: [NS]}, {pattern: "*"}]}]}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Delegation, metadata: {name: team, namespace: notified}, spec: {zoneRef: {name: main},
  namespaces: [notified-team], records: [{pattern: team}]}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: ns, namespace: notified}, spec: {zoneRef: {name: main}, domainName: "@",
  type: NS, rdata: ns.example.net.}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: team, namespace: notified-team}, spec: {
  domainName: team.notified.example., type: A, rdata: 192.0.2.1}}
`, "apply", "-f", "-")

	script := func(arguments ...string) {
		run := exec.Command(notify+"notify.sh", arguments...)
		run.Env = append(os.Environ(), "PATH="+filepath.Dir(c.kubectl)+":"+os.Getenv("PATH"), "KUBECONFIG="+c.kube.AdminKubeconfig(),
			"ALERTMANAGER="+alertmanager)
		run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its pipes end with it
		must.Succeed(t, run.Start())
		t.Cleanup(func() {
			must.Succeed(t, syscall.Kill(-run.Process.Pid, syscall.SIGKILL))
			_ = run.Wait()
		})
	}
	script("events")
	script("changes", "notified", "main", "3")
	values := 0
	waitUntil(t, "a large change", func() bool {
		values++ // the watch begins with the next change
		kubectl(fmt.Sprintf(`{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: many, namespace: notified}, spec: {
  zoneRef: {name: main}, domainName: many, type: A, values: [192.0.2.%d, 192.0.2.%d, 192.0.2.%d]}}`,
			values, values+50, values+100), "apply", "-f", "-")
		return chat.hasMessage("FIRING KubizoneLargeChange notified main", "entries of notified.example.")()
	})
	kubectl("", "delete", "delegation", "team", "-n", "notified")
	waitUntil(t, "a withdrawn rule", chat.hasMessage("FIRING KubizoneDelegationWithdrawn notified-team team", "S2.12"))
	kubectl("", "delete", "record", "ns", "-n", "notified")
	waitUntil(t, "an Event of the hold", chat.hasMessage("FIRING KubizoneMassDeletion notified main", "kubi.zone/publish-deletions="))
	waitUntil(t, "an alert of the hold", chat.hasMessage("FIRING KubizoneZonesHeld  ", "#kubizonezonesheld"))
	kubectl(`{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: lost, namespace: notified-team}, spec: {
  domainName: lost.nowhere.example., type: A, rdata: 192.0.2.1}}`, "apply", "-f", "-")
	waitUntil(t, "a refused Record", chat.hasMessage("FIRING KubizoneRecordsRefused notified-team ", "NoEnclosingZone"))
	for _, namespace := range []string{"notified-team", "notified"} {
		kubectl("", "delete", "records", "--all", "-n", namespace)
	}
	kubectl("", "delete", "zone", "main", "-n", "notified")
}
