// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// certManager is cert-manager in the cluster, and an ACME server that asks a hidden primary for challenges below
// example.org, which docs/acme.md delegates to team-a. b.example.org is team-b's.
type certManager struct {
	t       *testing.T
	c       *cluster
	program string
	running *rig.Process
	primary netip.AddrPort
	acme    *rig.Pebble
	shell   rig.Shell
}

// reads are the relevant rights of cert-manager's own chart, none for Kubizone.
var reads = []rbacv1.PolicyRule{
	{APIGroups: []string{"cert-manager.io", "acme.cert-manager.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	{APIGroups: []string{""}, Resources: []string{"secrets", "events"}, Verbs: []string{"*"}},
	{APIGroups: []string{""}, Resources: []string{"pods", "services"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"ingresses"}, Verbs: []string{"get", "list", "watch"}},
}

const challengeSource = "127.0.0.2"

func runCertManager(t *testing.T) *certManager {
	t.Helper()
	program := rig.Need(rig.GitOpsProgram("cert-manager", "certmanager"))(t)
	m := &certManager{t: t, c: requireCluster(t), program: program}
	dir := t.TempDir()
	for name, path := range map[string]string{"kubectl": m.c.kubectl, "kubectl-kubizone": m.c.client} {
		must.Succeed(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	m.shell = rig.Shell{Dir: dir, Kubeconfig: m.c.kube.AdminKubeconfig()}
	ctx := within(t, waitTimeout)
	for _, namespace := range []string{"dns", "team-a", "team-b"} {
		must.Succeed(t, m.c.kube.Namespace(ctx, namespace))
	}
	enableSolver(t, m.c, "--set", "acme.enabled=true")
	crds := filepath.Join(filepath.Dir(program), "crds")
	m.runLine("kubectl apply --server-side -f "+crds, "")
	m.runLine("kubectl wait --for=condition=Established --timeout=3m -f "+crds, "")
	must.Succeed(t, m.c.kube.Grant(ctx, "", solver, reads...))

	account := must.Get(m.c.kube.ServiceAccount(ctx, kuberig.InstallNamespace, "kubizone-primary"))(t)
	m.runLine("kubectl apply -f -", string(must.Get(os.ReadFile("../../artifacts/deploy/primary/rbac.yaml"))(t)))
	m.primary = must.Get(rig.FreePort())(t)
	primary := rig.RunProcess(t, m.c.kubizone, "primary", "--kubeconfig", account, "--dns-listen", m.primary.String(), "--health-listen",
		"127.0.0.1:0", "--transfer-allow", challengeSource)
	waitUntil(t, "the primary serves", func() bool { return strings.Contains(primary.Log(), "ready: DNS on") })

	m.runLine("kubectl apply -f -", `{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: example-org, namespace: dns},
  spec: {domainName: example.org., nameServers: [{name: ns1, addresses: [192.0.2.53]}],
  delegations: [{namespace: team-b, records: [{pattern: _acme-challenge.*.b, types: [TXT]}]}]}}`)
	zones := must.Get(versioned.NewForConfig(m.c.kube.Admin()))(t)
	t.Cleanup(func() { deleteZone(t, zones, "dns", "example-org") })
	m.acme = rig.NeedServer(rig.StartPebble(ctx, rig.PebbleConfig{Zone: "example.org.", Primary: m.primary, From: challengeSource,
		Serial: func() (uint32, error) {
			zone, err := zones.KubizoneV1alpha1().Zones("dns").Get(t.Context(), "example-org", metav1.GetOptions{})
			if err != nil {
				return 0, err
			}
			return uint32(zone.Status.Serial), nil
		}}))(t)
	m.start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("cert-manager:\n%s\npebble:\n%s", m.running.Log(), m.acme.Log())
		}
		m.running.End()
	})
	return m
}

func (m *certManager) start() {
	m.t.Helper()
	account := must.Get(m.c.kube.ServiceAccount(m.t.Context(), "cert-manager", "cert-manager"))(m.t)
	m.running = must.Get(rig.StartProcess(nil, m.t.TempDir(), m.program, account, "cert-manager", m.acme.Resolver.String()))(m.t)
}

func (m *certManager) runLine(line, input string) string {
	m.t.Helper()
	return must.Get(m.shell.Run(within(m.t, waitTimeout), line, input))(m.t)
}

func (m *certManager) makeIssuer(kind, namespace, name, dns01 string) {
	m.t.Helper()
	objects := must.Get(rig.ReadObjects("../../docs/acme.md"))(m.t)
	i := slices.IndexFunc(objects, func(object string) bool { return strings.Contains(object, "kind: Issuer") })
	root := must.Get(os.ReadFile(m.acme.Root))(m.t)
	issuer := strings.NewReplacer("kind: Issuer", "kind: "+kind, "{name: acme, namespace: team-a}",
		fmt.Sprintf("{name: %s, namespace: %q}", name, namespace), "server: https://acme.example/directory",
		"server: "+m.acme.Directory+"\n    caBundle: "+base64.StdEncoding.EncodeToString(root), "{name: acme-account}",
		"{name: "+name+"-account}").Replace(objects[i])
	if dns01 != "" {
		before, _, found := strings.Cut(issuer, "        webhook:")
		if !found {
			m.t.Fatalf("the Issuer of the page has another form:\n%s", issuer)
		}
		issuer = before + "        " + strings.ReplaceAll(strings.TrimSpace(dns01), "\n", "\n        ") + "\n"
	}
	m.runLine("kubectl apply -f -", issuer)
	in := ""
	if kind == "Issuer" {
		in = " -n " + namespace
	}
	m.runLine("kubectl wait --for=condition=Ready --timeout=3m "+kind+"/"+name+in, "")
}

func (m *certManager) certify(namespace, name, kind, issuer string, names ...string) {
	m.t.Helper()
	m.runLine("kubectl apply -f -", fmt.Sprintf(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {namespace: %s, name: %s},
  spec: {secretName: %[2]s-tls, dnsNames: ["%[3]s"], issuerRef: {kind: %[4]s, name: %[5]s}}}`, namespace, name, strings.Join(names, `", "`),
		kind, issuer))
}

// waitForCertificate checks the names, and returns the serial number.
func (m *certManager) waitForCertificate(namespace, name string, revision int, names ...string) string {
	m.t.Helper()
	waitUntil(m.t, fmt.Sprintf("%s/%s in revision %d", namespace, name, revision), func() bool {
		return m.runLine("kubectl get certificate -n "+namespace+" "+name+
			` -o jsonpath='{.status.revision} {.status.conditions[?(@.type=="Ready")].status}'`,
			"") == fmt.Sprint(revision, " True")
	})
	text := m.runLine("kubectl get secret -n "+namespace+" "+name+`-tls -o go-template='{{index .data "tls.crt" | base64decode}}'`, "")
	block, _ := pem.Decode([]byte(text))
	cert := must.Get(x509.ParseCertificate(block.Bytes))(m.t)
	if slices.Sort(cert.DNSNames); !slices.Equal(cert.DNSNames, names) || !strings.Contains(cert.Issuer.CommonName, "Pebble") {
		m.t.Errorf("%s/%s is for %v, by %s", namespace, name, cert.DNSNames, cert.Issuer)
	}
	return cert.SerialNumber.String()
}

func (m *certManager) findChallenge(namespace, name, field string) string {
	m.t.Helper()
	return m.runLine(fmt.Sprintf("kubectl get challenges -n %s -o "+
		`jsonpath='{range .items[?(@.spec.dnsName=="%s")]}{%s}{end}'`, namespace, name, field), "")
}

func (m *certManager) waitForReason(namespace, name, why string) {
	m.t.Helper()
	var message string
	waitUntil(m.t, namespace+" is told "+why, func() bool {
		message = m.findChallenge(namespace, name, ".status.reason")
		return strings.Contains(message, why)
	})
	m.t.Logf("%s, %s: %s", namespace, name, message)
}

// S13.1, S13.10, S13.11, S13.12, S13.13: the real cert-manager, with the chart's rights, gets and renews certificates
// by the webhook solver and by an UpdateKey, even after a death between Present and CleanUp. Names of another team, a
// ClusterIssuer, a team without a RoleBinding and a forged Challenge are refused with the reason in the Challenge
// (attack 100). Everything can be deleted.
func TestCertManager_issues(t *testing.T) {
	m := runCertManager(t)
	for _, object := range must.Get(rig.ReadObjects("../../docs/acme.md"))(t) {
		if strings.Contains(object, "kind: Delegation") {
			m.runLine("kubectl apply -f -", object)
		}
	}
	const bind = " create rolebinding acme --clusterrole kubizone-acme-solver --serviceaccount cert-manager:cert-manager"
	m.runLine("kubectl -n team-a"+bind, "")
	m.runLine("kubectl kubizone updatekey create acme -n team-a --pattern '_acme-challenge.*.apps.example.org.' --type TXT", "")
	m.runLine("kubectl -n team-a wait --for=condition=Ready updatekey/acme --timeout=3m", "")
	m.makeIssuer("Issuer", "team-a", "acme", "")
	m.makeIssuer("Issuer", "team-a", "acme-key", m.runLine("kubectl kubizone updatekey show team-a/acme --format cert-manager --primary "+
		m.primary.String(), ""))
	m.makeIssuer("ClusterIssuer", "", "everyone", "")
	m.makeIssuer("Issuer", "team-b", "acme", "")

	www := []string{"*.www.apps.example.org", "www.apps.example.org"}
	m.certify("team-a", "www", "Issuer", "acme", www...)
	m.certify("team-a", "api", "Issuer", "acme-key", "api.apps.example.org")
	m.certify("team-a", "cluster", "ClusterIssuer", "everyone", "cluster.apps.example.org")
	m.certify("team-b", "stolen", "Issuer", "acme", "stolen.apps.example.org")
	m.waitForReason("team-a", "cluster.apps.example.org", "use an Issuer in the namespace of the names")
	m.waitForReason("team-b", "stolen.apps.example.org", "kubizone-acme-solver there gives it")
	m.runLine("kubectl -n team-b"+bind, "")
	m.waitForReason("team-b", "stolen.apps.example.org", "does not delegate TXT")
	// The name must not be below a name that team-b requests: cert-manager solves one Challenge of a name at a time.
	m.certify("team-a", "beyond", "Issuer", "acme-key", "beyond.b.example.org")
	m.waitForReason("team-a", "beyond.b.example.org", "REFUSED")
	// CleanUp is refused beyond the key too. The page documents how to remove such a Challenge.
	m.runLine("kubectl delete certificate -n team-a beyond", "")
	beyond := "challenge -n team-a " + m.findChallenge("team-a", "beyond.b.example.org", ".metadata.name")
	m.runLine("kubectl delete --wait=false "+beyond, "")
	m.runLine("kubectl patch "+beyond+` --type merge -p '{"metadata": {"finalizers": null}}'`, "")

	// cert-manager dies between Present and CleanUp.
	waitUntil(t, "a challenge stands", func() bool {
		return m.runLine("kubectl get records -n team-a -l kubi.zone/dynamic=true -o name", "") != ""
	})
	m.running.Kill()
	if left := m.runLine("kubectl get records -n team-a -l kubi.zone/dynamic=true -o name", ""); left == "" {
		t.Error("a cert-manager that died has left nothing")
	}
	m.start()
	serial := m.waitForCertificate("team-a", "www", 1, www...)
	m.waitForCertificate("team-a", "api", 1, "api.apps.example.org")

	m.runLine(`kubectl patch certificate -n team-a www --subresource=status --type=json -p '[{"op": "add", `+
		`"path": "/status/conditions/-", "value": {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", `+
		`"message": "renewed", "lastTransitionTime": "2026-01-01T00:00:00Z"}}]'`, "")
	if renewed := m.waitForCertificate("team-a", "www", 2, www...); renewed == serial {
		t.Error("the renewed certificate is the one before")
	}
	if left := m.runLine("kubectl get records -A -l kubi.zone/dynamic=true -o name", ""); left != "" {
		t.Errorf("after all of it there is %s", left)
	}
	m.forgeChallenges()
	m.floodChallenges()

	m.runLine("kubectl delete rolebinding -n team-b acme", "")
	for _, namespace := range []string{"team-a", "team-b"} {
		m.runLine("kubectl delete certificates,issuers,challenges --all --wait --timeout=3m -n "+namespace, "")
	}
	m.runLine("kubectl delete clusterissuer everyone", "")
	m.runLine("kubectl -n team-a delete updatekey/acme secret/acme-tsig role/acme-tsig rolebinding/acme-tsig rolebinding/acme", "")
	m.runLine("kubectl -n dns delete delegation team-a", "")
}

// forgedSpec is the spec of a Challenge without an ACME order, by the Issuer acme of its namespace.
func forgedSpec(dnsName, key string) string {
	return fmt.Sprintf(`{authorizationURL: "https://127.0.0.1/a", url: "https://127.0.0.1/c", dnsName: %s, type: DNS-01, token: forged,
  key: %q, wildcard: false, issuerRef: {name: acme, kind: Issuer, group: cert-manager.io},
  solver: {dns01: {webhook: {groupName: acme.kubi.zone, solverName: kubizone}}}}`, dnsName, key)
}

// process presents forged Challenges, as if the ACME server had asked.
func (m *certManager) process(namespace string, challenges ...string) {
	m.t.Helper()
	m.runLine("kubectl patch challenge -n "+namespace+" "+strings.Join(challenges, " ")+
		` --subresource=status --type=merge -p '{"status": {"processing": true, "state": "pending"}}'`, "")
}

// forgeChallenges: the tenant chooses the content.
func (m *certManager) forgeChallenges() {
	m.t.Helper()
	for name, forged := range map[string]struct{ namespace, dnsName, key, why string }{
		"spf":     {"team-a", "spf.apps.example.org", "v=spf1 include:mallory.example -all", "request.key"},
		"long":    {"team-a", "long.apps.example.org", strings.Repeat("k", 100_000), "request.key"},
		"foreign": {"team-b", "www.apps.example.org", strings.Repeat("f", 43), "does not delegate TXT"},
	} {
		m.runLine("kubectl apply --server-side -f -", fmt.Sprintf("{apiVersion: acme.cert-manager.io/v1, kind: Challenge, "+
			"metadata: {namespace: %s, name: %s}, spec: %s}", forged.namespace, name, forgedSpec(forged.dnsName, forged.key)))
		m.process(forged.namespace, name)
		m.waitForReason(forged.namespace, forged.dnsName, forged.why)
	}
	if has := m.runLine("kubectl get records -A -l kubi.zone/dynamic=true -o name", ""); has != "" {
		m.t.Errorf("forged challenges have written %s", has)
	}
}

// floodChallenges creates more Challenges than cert-manager has workers, in a namespace over its write budget. Each
// Challenge reports the refusal and is retried with growing delays; another namespace gets a certificate meanwhile
// (attack 101).
func (m *certManager) floodChallenges() {
	m.t.Helper()
	m.runLine("kubectl annotate namespace team-a kubi.zone/budget=written=1", "")
	var names, objects []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("flood-%d", i))
		objects = append(objects, fmt.Sprintf("{apiVersion: acme.cert-manager.io/v1, kind: Challenge, metadata: {namespace: team-a, "+
			"name: flood-%d}, spec: %s}\n", i, forgedSpec(fmt.Sprintf("flood-%d.apps.example.org", i), fmt.Sprintf("%043d", i))))
	}
	m.runLine("kubectl apply --server-side -f -", strings.Join(objects, "---\n"))
	m.process("team-a", names...)
	waitUntil(m.t, "the Challenges of the flood are told of the budget", func() bool {
		reasons := m.runLine("kubectl get challenges -n team-a -o jsonpath='{.items[*].status.reason}'", "")
		return strings.Count(reasons, "(S9.2)") >= len(names)-1
	})
	m.certify("team-b", "own", "Issuer", "acme", "www.b.example.org")
	m.waitForCertificate("team-b", "own", 1, "www.b.example.org")
	tries := m.runLine("kubectl get events -n team-a --field-selector reason=PresentError -o "+
		`jsonpath='{range .items[*]}{.involvedObject.name}={.count} {end}'`, "")
	for _, of := range strings.Fields(tries) {
		name, count, _ := strings.Cut(of, "=")
		if n := must.Get(strconv.Atoi(count))(m.t); strings.HasPrefix(name, "flood-") && n > 15 {
			m.t.Errorf("cert-manager has tried %s %d times", name, n)
		}
	}
	m.runLine("kubectl annotate namespace team-a kubi.zone/budget-", "")
}
