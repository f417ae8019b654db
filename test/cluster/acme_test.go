// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// enableSolver applies the objects of the chart's switch acme: roles, and with a port the registration of the group.
// arguments are helm's.
func enableSolver(t *testing.T, c *cluster, arguments ...string) {
	t.Helper()
	helm := rig.Need(rig.Tool("helm"))(t)
	command := exec.CommandContext(t.Context(), helm, append([]string{"template", "kubizone", "../../charts/kubizone", "-n",
		kuberig.InstallNamespace, "--show-only", "templates/acme/solver.yaml", "--set", "image.repository=kubizone"}, arguments...)...)
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	rendered := string(must.Get(command.Output())(t))
	at := strings.Fields(kubectlAs(t, c, c.kube.AdminKubeconfig(), "", "get", "apiservice", "v1alpha1.kubi.zone", "-o",
		"jsonpath={.spec.service.port} {.spec.caBundle}"))
	objects := strings.Replace(rendered, "port: 443", "port: "+at[0]+"\n  caBundle: "+at[1], 1)
	kubectlAs(t, c, c.kube.AdminKubeconfig(), objects, "apply", "-f", "-")
	// A registration without a server blocks every namespace deletion.
	t.Cleanup(func() {
		command := exec.Command(c.kubectl, "--kubeconfig", c.kube.AdminKubeconfig(), "delete", "-f", "-")
		command.Stdin = strings.NewReader(objects)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	kubectlAs(t, c, c.kube.AdminKubeconfig(), "", "wait", "--for=condition=Available", "apiservice/v1alpha1.acme.kubi.zone",
		"--timeout=1m")
	clients := must.Get(c.kube.Clients())(t)
	rig.Until(rig.Within(t, time.Minute), t, "the solver's group behind kube-apiserver", func() error {
		_, err := clients.Discovery().ServerResourcesForGroupVersion("acme.kubi.zone/v1alpha1")
		return err
	})
	must.Succeed(t, c.kube.Namespace(t.Context(), "cert-manager"))
}

const solver = "system:serviceaccount:cert-manager:cert-manager"

func postChallenge(t *testing.T, c *cluster, as, action, namespace, fqdn string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), c.kubectl, "--kubeconfig", c.kube.AdminKubeconfig(), "create", "--raw",
		"/apis/acme.kubi.zone/v1alpha1/kubizone", "-f", "-", "--as="+as)
	command.Stdin = strings.NewReader(fmt.Sprintf(`{"request": {"uid": "1", "action": %q, "type": "dns-01", "dnsName": %q,
  "key": %q, "resourceNamespace": %q, "resolvedFQDN": %q, "allowAmbientCredentials": false}}`,
		action, "ignored.example.org", strings.Repeat("x", 43), namespace, fqdn))
	out, _ := command.CombinedOutput() // out contains a refusal's text
	return string(out)
}

const succeeds = `"success":true`

// S13.11: behind kube-apiserver, with the chart's roles, cert-manager solves only for namespaces with a RoleBinding.
// Its own namespace, that of each ClusterIssuer, is refused even with a RoleBinding (attack 100).
func TestACME_needsTheRightToSolve_S13_11(t *testing.T) {
	c := requireCluster(t)
	kubectl := func(stdin string, args ...string) string {
		t.Helper()
		return kubectlAs(t, c, c.kube.AdminKubeconfig(), stdin, args...)
	}
	enableSolver(t, c, "--set", "acme.enabled=true")
	for _, namespace := range []string{"acme-dns", "acme-bound", "acme-unbound"} {
		kubectl("", "create", "namespace", namespace)
	}
	var rules []string
	for _, namespace := range []string{"acme-bound", "acme-unbound", "cert-manager"} {
		rules = append(rules, fmt.Sprintf(`{namespace: %s, records: [{pattern: _acme-challenge.*, types: [TXT]}]}`, namespace))
	}
	kubectl(`{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: acme, namespace: acme-dns}, spec: {domainName: acme.example.,
  nameServers: [{name: ns1, addresses: [192.0.2.53]}], delegations: [`+strings.Join(rules, ", ")+`]}}`, "apply", "-f", "-")
	records := must.Get(versioned.NewForConfig(c.kube.Admin()))(t)
	t.Cleanup(func() { deleteZone(t, records, "acme-dns", "acme") })
	for _, namespace := range []string{"acme-bound", "cert-manager"} {
		kubectl("", "create", "rolebinding", "-n", namespace, "acme", "--clusterrole=kubizone-acme-solver",
			"--serviceaccount=cert-manager:cert-manager")
	}
	post := func(as, action, namespace string) string {
		return postChallenge(t, c, as, action, namespace, "_acme-challenge.www.acme.example.")
	}
	const other = "system:serviceaccount:acme-bound:default"
	waitUntil(t, "a challenge that is presented", func() bool {
		return strings.Contains(post(solver, "Present", "acme-bound"), succeeds)
	})
	const fqdns = "jsonpath={.items[*].status.fqdn}"
	if got := kubectl("", "get", "records", "-n", "acme-bound", "-o", fqdns); got != "_acme-challenge.www.acme.example." {
		t.Errorf("acme-bound has the Records %q", got)
	}
	for _, refused := range [][3]string{
		{solver, "acme-unbound", "kubizone-acme-solver there gives it"},
		{solver, "cert-manager", "use an Issuer in the namespace of the names"},
		{other, "acme-bound", `cannot create resource "kubizone"`},
	} {
		if got := post(refused[0], "Present", refused[1]); !strings.Contains(got, refused[2]) {
			t.Errorf("%s for %s: %s", refused[0], refused[1], got)
		}
	}
	if got := post(solver, "CleanUp", "acme-bound"); !strings.Contains(got, succeeds) {
		t.Error(got)
	}
	if got := kubectl("", "get", "records", "-A", "-l", "kubi.zone/dynamic=true", "-o", "name"); strings.Contains(got, "acme") {
		t.Errorf("cleaned up, and there is %s", got)
	}
}

// The objects and commands are those of docs/acme.md. TestCertManager_issues, with cert-manager's kinds, applies the
// Issuer.
func TestACMEPage_isTrue(t *testing.T) {
	c := requireCluster(t)
	const page = "../../docs/acme.md"
	dir := t.TempDir()
	for name, path := range map[string]string{"kubectl": c.kubectl, "kubectl-kubizone": c.client} {
		must.Succeed(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	shell := rig.Shell{Dir: dir, Kubeconfig: c.kube.AdminKubeconfig()}
	run := func(line, input string) string {
		t.Helper()
		return must.Get(shell.Run(within(t, waitTimeout), line, input))(t)
	}
	for _, namespace := range []string{"dns", "team-a"} {
		must.Succeed(t, c.kube.Namespace(t.Context(), namespace))
	}
	run("kubectl apply -f -", `{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: example-org, namespace: dns},
  spec: {domainName: example.org., nameServers: [{name: ns1, addresses: [192.0.2.53]}]}}`)
	zones := must.Get(versioned.NewForConfig(c.kube.Admin()))(t)
	t.Cleanup(func() { deleteZone(t, zones, "dns", "example-org") })
	for _, object := range must.Get(rig.ReadObjects(page))(t) {
		if !strings.Contains(object, "kind: Issuer") {
			run("kubectl apply -f -", object)
		}
	}
	const www, deeper = "_acme-challenge.www.apps.example.org.", "_acme-challenge.a.www.apps.example.org."
	typed := map[string]int{}
	for _, step := range must.Get(rig.ReadConsole(page, ""))(t) {
		words := strings.Fields(step.Line)
		if len(words) > 1 && words[1] == "kubizone" {
			words = words[1:]
		}
		typed[words[0]]++
		switch {
		case words[0] == "helm": // an installed release without the switch
			enableSolver(t, c, slices.DeleteFunc(words[4:], func(word string) bool { return word == "--reuse-values" })...)
			continue
		case strings.Contains(step.Line, "delete records"): // cert-manager is gone after Present
			waitUntil(t, "a challenge that is presented", func() bool {
				return strings.Contains(postChallenge(t, c, solver, "Present", "team-a", www), succeeds)
			})
			for _, action := range []string{"Present", "CleanUp"} {
				if message := postChallenge(t, c, solver, action, "team-a", deeper); !strings.Contains(message, succeeds) {
					t.Errorf("%s at %s, as the page says: %s", action, deeper, message)
				}
			}
		}
		if message := run(step.Line, ""); strings.TrimSpace(step.Output) != "" && message != step.Output {
			t.Errorf("$ %s%s\nthe page has\n%s", step.Line, message, step.Output)
		}
		if strings.Contains(step.Line, "delete records") {
			if left := run("kubectl -n team-a get records -o name", ""); left != "" {
				t.Errorf("there is still %s", left)
			}
			// The Challenge is found again.
			if message := postChallenge(t, c, solver, "CleanUp", "team-a", www); !strings.Contains(message, succeeds) {
				t.Errorf("a challenge that is gone is not cleaned up: %s", message)
			}
		}
	}
	if typed["helm"] != 1 || typed["kubectl"] != 2 || typed["kubizone"] != 3 {
		t.Errorf("the page has other commands than this test knows: %v", typed)
	}
	run("kubectl -n dns delete delegation team-a", "")
	run("kubectl -n team-a delete updatekey/acme secret/acme-tsig role/acme-tsig rolebinding/acme-tsig rolebinding/acme", "")
}
