// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kubi.zone/kubizone/cmd/kubizone/delivering"
	"kubi.zone/kubizone/test/metrics"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

var healthAt = regexp.MustCompile(`health on ([0-9.:]+)`)

// Secrets read by the controller and a primary in a real cluster appear in no log at -v=7, no Event, no status and no
// metric, raw or encoded, with an echoing and absent servers, and a malformed Secret.
func TestController_secretsAreNowhere(t *testing.T) {
	c := requireCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*waitTimeout)
	defer cancel()
	kubectl := func(stdin string, args ...string) string {
		t.Helper()
		return kubectlAs(t, c, c.kube.AdminKubeconfig(), stdin, args...)
	}
	const namespace = "canary"
	must.Succeed(t, c.kube.Namespace(ctx, namespace))
	for _, of := range []string{"controller", "primary"} {
		kubectl("", "apply", "-f", filepath.Join("../../artifacts/deploy", of, "rbac.yaml"))
		must.Succeed(t, c.kube.Grant(ctx, namespace, "system:serviceaccount:"+kuberig.InstallNamespace+":kubizone-"+of, rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"},
		}))
	}
	secrets := map[string]string{}
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for _, what := range []string{"hmac", "bearer", "update", "transfer", "broken"} {
		secrets[what] = "canary-" + what + "-7d1f0c9b5a3e"
		data := map[string]string{"key": secrets[what]}
		switch what {
		case "update", "transfer":
			data = map[string]string{"name": what + ".example", "secret": encoded(secrets[what])}
		case "broken":
			data = map[string]string{"name": "broken.example", "secret": secrets[what]} // not base64
		}
		args := []string{"create", "secret", "generic", what, "-n", namespace}
		for key, value := range data {
			args = append(args, "--from-literal="+key+"="+value)
		}
		kubectl("", args...)
	}
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all := fmt.Sprint(r.Header, r.URL, string(body), secrets, encoded(secrets["hmac"]))
		w.Header().Set("X-Echo", strings.ReplaceAll(all, "\n", " "))
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"success": false, "message": all, "error": map[string]string{"code": all, "message": all}})
	}))
	defer echo.Close()
	gone := must.Get(rig.FreePort())(t)
	dns := must.Get(rig.FreePort())(t)
	ref := func(name string) string { return fmt.Sprintf("{name: %s, namespace: %s}", name, namespace) }
	blocks := map[string]string{
		"hmac":     fmt.Sprintf(`webhook: {server: "%s", hmacAuth: {secretRef: {name: hmac, namespace: %s, key: key}}}`, echo.URL, namespace),
		"bearer":   fmt.Sprintf(`webhook: {server: "https://%s", bearerTokenFrom: {name: bearer, namespace: %s, key: key}}`, strings.TrimPrefix(echo.URL, "http://"), namespace),
		"update":   fmt.Sprintf(`rfc2136: {server: "%s", tsigSecretRef: %s}`, gone, ref("update")),
		"transfer": fmt.Sprintf(`transfer: {secondaries: [{address: "%s"}], tsigSecretRef: %s}`, gone, ref("transfer")),
		"broken":   fmt.Sprintf(`transfer: {secondaries: [{address: "%s"}], tsigSecretRef: %s}`, gone, ref("broken")),
	}
	var objects, refs strings.Builder
	for name, block := range blocks {
		fmt.Fprintf(&objects, "---\n{apiVersion: kubi.zone/v1alpha1, kind: DNSClass, metadata: {name: canary-%s}, spec: {namespaces: {names: [%s]}, allowLocalAddresses: true, allowRetain: true, %s}}\n", name, namespace, block)
		fmt.Fprintf(&refs, "{name: canary-%s},", name)
	}
	fmt.Fprintf(&objects, `---
{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: main, namespace: %[1]s}, spec: {domainName: canary.example., dnsClassRefs: [%[2]s],
  deletionPolicy: Retain, nameServers: [{name: ns.example.net.}], delegations: [{namespace: %[1]s, records: [{pattern: "*"}]}]}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: www, namespace: %[1]s}, spec: {domainName: www, zoneRef: {name: main}, type: A, rdata: 192.0.2.1}}
`, namespace, refs.String())

	t.Setenv(delivering.EnvHealthInterval, "2s")
	programs := map[string]*rig.Process{}
	for of, args := range map[string][]string{
		"controller": {rig.LongLease},
		"primary":    {"--dns-listen", dns.String()},
	} {
		account := must.Get(c.kube.ServiceAccount(ctx, kuberig.InstallNamespace, "kubizone-"+of))(t)
		programs[of] = rig.RunProcess(t, c.kubizone, append([]string{of, "--kubeconfig", account, "--health-listen", "127.0.0.1:0", "-v=7"}, args...)...)
	}
	kubectl(objects.String(), "apply", "-f", "-")
	defer func() {
		kubectl("", "delete", "namespace", namespace, namespaceTimeout)
		for name := range blocks {
			kubectl("", "delete", "dnsclass", "canary-"+name, "--timeout=2m")
		}
	}()
	waitUntil(t, "every class has failed, and was asked for its health", func() bool {
		failed := strings.Fields(kubectl("", "get", "deliveries", "-n", namespace, "-o", "jsonpath={.items[*].status.error.reason}"))
		asked := strings.Fields(kubectl("", "get", "dnsclasses", "-o", `jsonpath={.items[?(@.status.health.status=="Unhealthy")].metadata.name}`))
		return len(failed) == len(blocks) && strings.Count(strings.Join(asked, " "), "canary-") == len(blocks)
	})
	kubectl("", "patch", "secret", "hmac", "-n", namespace, "-p", `{"stringData":{"key":"canary-hmac-7d1f0c9b5a3e-again"}}`)
	kubectl("", "patch", "record", "www", "-n", namespace, "--type=merge", "-p", `{"spec":{"rdata":"192.0.2.2"}}`)
	waitUntil(t, "an Event of a failure", func() bool {
		return strings.Contains(kubectl("", "get", "events.events.k8s.io", "-n", namespace), "Warning")
	})
	waitUntil(t, "the primary serves a class", func() bool { return strings.Contains(programs["primary"].Log(), "canary-transfer") })

	places := map[string]string{"log of the API server": c.server.Log()}
	for _, kinds := range []string{"events.events.k8s.io", "zones,records,deliveries", "dnsclasses", "leases"} {
		places[kinds] = kubectl("", "get", kinds, "-A", "-o", "json")
	}
	for of, program := range programs {
		at := healthAt.FindStringSubmatch(program.Log())
		if at == nil {
			t.Fatalf("%s does not say where its metrics are", of)
		}
		answer := must.Get(http.Get("http://" + at[1] + "/metrics"))(t)
		served, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range metrics.Check(of, string(served)) {
			t.Error(wrong)
		}
		places["metrics of "+of], places["log of "+of] = string(served), program.Log()
	}
	for _, of := range []string{"controller", "primary"} {
		if !strings.Contains(places["log of "+of], "/secrets/transfer") {
			t.Errorf("the log of %s does not show that it read Secrets: nothing is proven by what is not in it", of)
		}
	}
	for place, what := range places {
		if len(what) < 200 {
			t.Errorf("%s: nothing to look at: %q", place, what)
		}
		for name, secret := range secrets {
			for form, looks := range map[string]string{
				"as it is": secret, "in base64": encoded(secret), "in base64 twice": encoded(encoded(secret)), "in hexadecimal": hex.EncodeToString([]byte(secret)), "quoted": fmt.Sprint([]byte(secret)),
			} {
				if at := strings.Index(what, looks); at >= 0 {
					t.Errorf("the secret %s is in %s, %s: %s", name, place, form, what[max(0, at-300):at])
				}
			}
		}
	}
}
