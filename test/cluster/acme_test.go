// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/test/must"
)

// solverObjects are what the chart's switch acme adds beside a flag of the server: its roles, and with a port the
// registration of the group, as that of zones is here.
func solverObjects(t *testing.T, port, bundle string) string {
	t.Helper()
	text := string(must.Get(os.ReadFile("../../charts/kubizone/templates/acme/solver.yaml"))(t))
	_, text, _ = strings.Cut(text, "{{- if .Values.acme.enabled }}")
	before, rest, _ := strings.Cut(text, "  {{- if .Values.certManager.enabled }}")
	_, rest, ok := strings.Cut(rest, "{{- end }}\n")
	text = strings.TrimSuffix(strings.TrimSpace(before+rest), "{{- end }}")
	text = strings.ReplaceAll(text, "port: 443", "port: "+port+"\n  caBundle: "+bundle)
	text = strings.NewReplacer("{{ .Release.Namespace }}", "kubizone-system", "{{ .Values.acme.solver.serviceAccount }}", "cert-manager",
		"{{ .Values.acme.solver.namespace }}", "cert-manager").Replace(text)
	if !ok || strings.Contains(text, "{{") {
		t.Fatalf("the chart is not read right:\n%s", text)
	}
	return text
}

// S13.11: behind kube-apiserver, with the roles of the chart, cert-manager solves for namespaces that a RoleBinding
// names, and for no other; its own namespace, that of each ClusterIssuer, is refused whatever is bound (attack 100).
func TestACME_needsTheRightToSolve_S13_11(t *testing.T) {
	c := requireCluster(t)
	kubectl := func(stdin string, args ...string) string {
		t.Helper()
		return kubectlAs(t, c, c.kube.AdminKubeconfig(), stdin, args...)
	}
	const path = "{.spec.service.port} {.spec.caBundle}"
	at := strings.Fields(kubectl("", "get", "apiservice", "v1alpha1.kubi.zone", "-o", "jsonpath="+path))
	objects := solverObjects(t, at[0], at[1])
	kubectl(objects, "apply", "-f", "-")
	// While a registration has no server, no namespace ends.
	t.Cleanup(func() {
		command := exec.Command(c.kubectl, "--kubeconfig", c.kube.AdminKubeconfig(), "delete", "-f", "-")
		command.Stdin = strings.NewReader(objects)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	kubectl("", "wait", "--for=condition=Available", "apiservice/v1alpha1.acme.kubi.zone", "--timeout=1m")
	for _, namespace := range []string{"acme-dns", "acme-bound", "acme-unbound", "cert-manager"} {
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
		command := exec.CommandContext(t.Context(), c.kubectl, "--kubeconfig", c.kube.AdminKubeconfig(), "create", "--raw",
			"/apis/acme.kubi.zone/v1alpha1/kubizone", "-f", "-", "--as="+as)
		command.Stdin = strings.NewReader(fmt.Sprintf(`{"request": {"uid": "1", "action": %q, "type": "dns-01", "dnsName": "www.acme.example",
  "key": %q, "resourceNamespace": %q, "resolvedFQDN": "_acme-challenge.www.acme.example.", "allowAmbientCredentials": false}}`,
			action, strings.Repeat("x", 43), namespace))
		out, _ := command.CombinedOutput() // what a refusal says stands in it
		return string(out)
	}
	const solver, other = "system:serviceaccount:cert-manager:cert-manager", "system:serviceaccount:acme-bound:default"
	waitUntil(t, "a challenge that is presented", func() bool {
		return strings.Contains(post(solver, "Present", "acme-bound"), `"success":true`)
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
	if got := post(solver, "CleanUp", "acme-bound"); !strings.Contains(got, `"success":true`) {
		t.Error(got)
	}
	if got := kubectl("", "get", "records", "-A", "-l", "kubi.zone/dynamic=true", "-o", "name"); strings.Contains(got, "acme") {
		t.Errorf("cleaned up, and there is %s", got)
	}
}
