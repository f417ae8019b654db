// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/alertrig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// A leader that cannot renew for half of this time exits; on a busy machine, two seconds would be too short.
const lease = "20s"

func waitUntil(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); !so(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never so: %s", what)
		}
	}
}

// contestClass changes a Record until two controllers with Leases of their own have disturbed each other, and ends the
// second.
func contestClass(t *testing.T, c *cluster, controllers []*rig.Process, change func(address string)) {
	t.Helper()
	scrape := func() (series alertrig.Series, fenced float64) {
		series = alertrig.Series{}
		series.AddScrape("kubizone-apiserver", "server", c.readMetrics(t))
		for i, one := range controllers {
			at := healthAt.FindStringSubmatch(one.Log())
			series.Scrape(http.DefaultClient, "kubizone-controller", fmt.Sprint(i), "http://"+at[1]+"/metrics")
		}
		for name, value := range series {
			if strings.HasPrefix(name, "kubizone_delivery_fenced_total") {
				fenced += value
			}
		}
		return series, fenced
	}
	before, first := scrape()
	alertrig.State{Now: before}.ExpectOf(t, "KubizoneDeliveryContested")
	state := alertrig.State{Before: before}
	begin := time.Now()
	for i, fenced := 0, first; fenced < first+3; state.Now, fenced = scrape() {
		i++
		change(fmt.Sprintf("198.51.100.%d", 1+i%200))
		if time.Since(begin) > waitTimeout {
			t.Fatalf("after %d changes, two controllers have counted %v conflicts", i, fenced-first)
		}
	}
	state.Apart = time.Since(begin)
	state.ExpectOf(t, "KubizoneDeliveryContested", "KubizoneDeliveryContested delivered")
	second := controllers[1]
	must.Succeed(t, second.Signal(syscall.SIGTERM))
	<-second.Ended()
	must.Succeed(t, second.Err())
}

// Two controllers with the rights of the installation: only one leads, and reads only Secrets granted by name. The
// other takes over after its death, and a controller told to stop exits cleanly.
func TestController_deliversWithTheRightsOfTheInstallation(t *testing.T) {
	c := requireCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*waitTimeout)
	defer cancel()
	dir := t.TempDir()
	kubectl := func(stdin string, args ...string) string {
		t.Helper()
		return kubectlAs(t, c, c.kube.AdminKubeconfig(), stdin, args...)
	}
	account := must.Get(c.kube.ServiceAccount(ctx, kuberig.InstallNamespace, "kubizone-controller"))(t)
	kubectl("", "apply", "-f", "../../artifacts/deploy/controller/rbac.yaml")
	const namespace = "delivered"
	must.Succeed(t, c.kube.Namespace(ctx, namespace))

	file, secret := filepath.Join(dir, "delivered.example.zone"), filepath.Join(dir, "secret")
	for path, text := range map[string]string{
		file:   "$TTL 300\n@ IN SOA ns.example.net. host.example.net. 1 7200 900 1209600 300\n@ IN NS ns.example.net.\n",
		secret: "known to both",
	} {
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	hook := must.Get(rig.FreePort())(t)
	webhookServer := must.Get(rig.WebhookServer(ctx, dir))(t)
	rig.RunProcess(t, webhookServer, "--listen", hook.String(), "--hmac-secret-file", secret, "--zone-file", "delivered.example="+file, "--zone-check=", "--zone-reload=")
	isPresent := func(text string) func() bool {
		return func() bool {
			now, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(now), text)
		}
	}

	start := func(arguments ...string) *rig.Process {
		b := rig.RunProcess(t, c.kubizone, append([]string{"controller", "--kubeconfig", account, "--health-listen", "127.0.0.1:0",
			"--lease-duration", lease, "-v=1"}, arguments...)...)
		waitUntil(t, "a controller is ready", func() bool { return strings.Contains(b.Log(), "\nready") })
		return b
	}
	leader := start()
	waitUntil(t, "it leads", func() bool { return strings.Contains(leader.Log(), "\nleading") })
	other := start()

	kubectl("", "create", "secret", "generic", "hook", "-n", namespace, "--from-file=key="+secret)
	kubectl(fmt.Sprintf(`
{apiVersion: kubi.zone/v1alpha1, kind: DNSClass, metadata: {name: delivered}, spec: {namespaces: {names: [%[1]s]}, allowLocalAddresses: true,
  webhook: {server: "http://%[2]s", hmacAuth: {secretRef: {name: hook, namespace: %[1]s, key: key}}}}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: main, namespace: %[1]s}, spec: {domainName: delivered.example., dnsClassRefs: [{name: delivered}],
  nameServers: [{name: ns.example.net.}], delegations: [{namespace: %[1]s, records: [{pattern: "*"}]}]}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: www, namespace: %[1]s}, spec: {domainName: www, zoneRef: {name: main}, type: A, rdata: 192.0.2.1}}
`, namespace, hook), "apply", "-f", "-")

	// The Secret exists but may not be read.
	waitUntil(t, "the class says that it may not read the Secret", func() bool {
		return strings.Contains(kubectl("", "get", "dnsclass", "delivered", "-o", "wide"), "SecretNotFound")
	})
	if isPresent("www")() {
		t.Error("something went out unsigned")
	}
	if err := c.kube.Grant(ctx, namespace, "system:serviceaccount:"+kuberig.InstallNamespace+":kubizone-controller", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: []string{"hook"},
	}); err != nil {
		t.Fatal(err)
	}
	wait := func() {
		t.Helper()
		kubectl("", "wait", "-n", namespace, "--for=condition=Ready", "zone/main", "record/www", "--timeout=2m")
	}
	wait()
	if !isPresent("192.0.2.1")() {
		t.Error("Ready, and not there")
	}

	// A failure makes a single Event of the Zone, and so does the recovery.
	kubectl("", "patch", "secret", "hook", "-n", namespace, "-p", `{"stringData":{"key":"another"}}`)
	waitUntil(t, "the class is refused", func() bool {
		return strings.Contains(kubectl("", "get", "dnsclass", "delivered", "-o", "wide"), "AuthenticationFailed")
	})
	kubectl("", "patch", "record", "www", "-n", namespace, "--type=merge", "-p", `{"spec":{"rdata":"192.0.2.2"}}`)
	waitUntil(t, "an Event of the failure", func() bool {
		return strings.Contains(kubectl("", "get", "events.events.k8s.io", "-n", namespace), "AuthenticationFailed")
	})
	kubectl("", "patch", "secret", "hook", "-n", namespace, "-p", `{"stringData":{"key":"known to both"}}`)
	wait()
	waitUntil(t, "an Event of the recovery", func() bool {
		return strings.Contains(kubectl("", "get", "events.events.k8s.io", "-n", namespace), "Delivered")
	})

	// The leader dies, and the other delivers a change that no controller has seen.
	if strings.Contains(other.Log(), "\nleading") {
		t.Fatal("two lead")
	}
	leader.Kill()
	kubectl("", "patch", "record", "www", "-n", namespace, "--type=merge", "-p", `{"spec":{"rdata":"192.0.2.3"}}`)
	wait()
	if !strings.Contains(other.Log(), "\nleading") || !isPresent("192.0.2.3")() || isPresent("192.0.2.2")() {
		t.Error("the other did not take over")
	}

	contestant := start("--kubeconfig", c.kube.AdminKubeconfig(), "--lease", namespace+"/another")
	contestClass(t, c, []*rig.Process{other, contestant}, func(address string) {
		kubectl("", "patch", "record", "www", "-n", namespace, "--type=merge", "-p", `{"spec":{"rdata":"`+address+`"}}`)
	})
	wait()

	// After SIGTERM, the Lease is released, so that the next need not wait for the expiry.
	must.Succeed(t, other.Signal(syscall.SIGTERM))
	if <-other.Ended(); other.Err() != nil {
		t.Errorf("it ended with %v", other.Err())
	}
	if holder := kubectl("", "get", "lease", "-n", kuberig.InstallNamespace, "kubizone-controller", "-o", "jsonpath={.spec.holderIdentity}"); holder != "" {
		t.Errorf("the Lease is still %q's", holder)
	}
	for _, b := range []*rig.Process{leader, other} {
		if strings.Contains(b.Log(), "known to both") {
			t.Error("a secret is in the log")
		}
		if strings.Contains(b.Log(), "forbidden") && !strings.Contains(b.Log(), "secrets") {
			t.Errorf("a right is missing:\n%s", b.Log())
		}
	}

	// The namespace goes with all objects, and with the data at the provider (S8.4, S8.5).
	start()
	kubectl("", "delete", "namespace", namespace, namespaceTimeout)
	if isPresent("www")() {
		t.Error("the namespace is gone, and its data is not")
	}
	kubectl("", "delete", "dnsclass", "delivered", "--timeout=2m")
}
