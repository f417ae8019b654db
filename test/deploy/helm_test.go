// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/test/metrics"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// releaseValues turn on every switch that replaces no other part.
const releaseValues = `
image: {repository: registry.example/kubizone}
aggregateRoles: true
primary: {enabled: true}
classes:
  internal: {transfer: true, secrets: {team-a: [transfer]}}
  hook: {secrets: {team-a: [hook]}}
monitoring: {monitors: true, rules: true, dashboard: true, prometheus: {serviceAccount: prometheus}}
`

// otherValues change values that an upgrade may change.
const otherValues = `
image: {digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", pullPolicy: Always, pullSecrets: [registry]}
apiserver:
  extraArgs: [--encryption-provider-config=/run/kubizone/encryption/config.yaml]
  extraVolumes:
  - {name: encryption, secret: {secretName: encryption, defaultMode: 0440}}
  - {name: backups, persistentVolumeClaim: {claimName: backups}}
  extraVolumeMounts:
  - {name: encryption, mountPath: /run/kubizone/encryption, readOnly: true}
  - {name: backups, mountPath: /backups}
  resources: {limits: {memory: 4Gi}}
  nodeSelector: {kubernetes.io/os: linux}
  tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]
controller: {extraArgs: [--lease-duration=20s]}
primary:
  transferAllow: [192.0.2.0/24]
  transferTo: [192.0.2.53, "192.0.2.54:5353"]
  service: {type: LoadBalancer, externalTrafficPolicy: Local, annotations: {example.org/pool: dns}}
networkPolicy: {apiCIDRs: [192.0.2.0/24, "2001:db8::/32"], dnsCIDRs: [192.0.2.53/32], metricsCIDRs: [198.51.100.0/24]}
`

// monitoringKinds are CRDs in place of the Prometheus operator's.
func monitoringKinds() string {
	var text strings.Builder
	for _, kind := range []string{"ServiceMonitor", "PodMonitor", "PrometheusRule"} {
		name := strings.ToLower(kind)
		text.WriteString(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + name + `s.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: ` + kind + `, plural: ` + name + `s}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	}
	return text.String()
}

// release has a post-renderer, which makes the two changes of newInstallation.
type release struct {
	*installation
	plugins, values string
}

func newRelease(t *testing.T) *release {
	i := newInstallation(t, "embedded")
	r := &release{installation: i, plugins: t.TempDir(), values: filepath.Join(t.TempDir(), "values.yaml")}
	plugin := filepath.Join(r.plugins, "rig")
	for name, text := range map[string]string{
		filepath.Join(plugin, "plugin.yaml"): `{apiVersion: v1, name: rig, version: 0.1.0, type: postrenderer/v1, runtime: subprocess,
  runtimeConfig: {platformCommand: [{command: "${HELM_PLUGIN_DIR}/render.sh"}]}}`,
		filepath.Join(plugin, "render.sh"): "#!/bin/sh\nset -e\ncd " + plugin + "\ncat >all.yaml\nexec " + i.kubectl + " kustomize .\n",
		r.values:                           releaseValues,
	} {
		must.Succeed(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must.Succeed(t, os.WriteFile(name, []byte(text), 0o700))
	}
	r.writePatches()
	return r
}

func (r *release) writePatches() {
	r.t.Helper()
	must.Succeed(r.t, os.WriteFile(filepath.Join(r.plugins, "rig", "kustomization.yaml"), []byte("resources: [all.yaml]\n"+r.makePatches()),
		0o600))
}

func (r *release) serveAt(at netip.AddrPort) {
	r.t.Helper()
	r.port = fmt.Sprint(at.Port())
	r.writePatches()
}

func (r *release) runHelm(arguments ...string) (string, error) {
	r.t.Helper()
	arguments = append(arguments, "-n", kuberig.InstallNamespace, "--kubeconfig", r.kube.AdminKubeconfig())
	if slices.Contains([]string{"install", "upgrade"}, arguments[0]) {
		arguments = append(arguments, "--post-renderer", "rig", "-f", r.values)
	}
	return runHelm(r.t, []string{"HELM_PLUGINS=" + r.plugins, r.discovered}, arguments...)
}

func (r *release) mustHelm(arguments ...string) string {
	r.t.Helper()
	out, err := r.runHelm(arguments...)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func (r *release) listObjects() []*unstructured.Unstructured {
	r.t.Helper()
	return decodeObjects(r.t, r.mustHelm("get", "manifest", "kubizone"))
}

// waitForKinds waits until requests for our kinds are answered: discovery lags behind the Available APIService.
func (r *release) waitForKinds() {
	r.t.Helper()
	if _, _, err := r.kube.WaitAvailable(r.withTimeout(), true); err != nil {
		r.t.Fatal(err)
	}
	for start := time.Now(); ; rig.Pause(start) {
		out, stderr, err := r.runKubectl("", "get", "zones,records", "-A")
		if err == nil {
			return
		}
		if time.Since(start) > waitTimeout {
			r.t.Fatalf("the kinds are not there: %v\n%s%s", err, out, stderr)
		}
	}
}

// waitReady waits until a sub-command beside the server is ready, and returns the rest of its line.
func (r *release) waitReady(name string) string {
	r.t.Helper()
	line := regexp.MustCompile(`(?m)^` + name + `: ready: (.*)$`)
	for start := time.Now(); ; rig.Pause(start) {
		if found := line.FindStringSubmatch(r.log.String()); found != nil {
			return found[1]
		}
		if time.Since(start) > waitTimeout {
			r.t.Fatalf("%s is not ready:\n%s", name, r.log)
		}
	}
}

// M7: the life of a release.
func TestHelm_untilUninstalled(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	r.mustKubectl("create", "namespace", "team-a")
	if out, stderr, err := r.runKubectl(monitoringKinds(), "apply", "-f", "-"); err != nil {
		t.Fatal(out, stderr)
	}
	must.Succeed(t, r.kube.WaitDefinitions(r.withTimeout()))

	notes := r.mustHelm("install", "kubizone", chart, "--create-namespace")
	for _, next := range []string{"kubectl wait --for=condition=Available apiservice/" + kuberig.APIServiceName, "--set mode=ha", "kubectl create secret generic kubizone-primary-tsig"} {
		if !strings.Contains(notes, next) {
			t.Errorf("the notes do not name %q:\n%s", next, notes)
		}
	}
	// While the APIService has no server yet, discovery is incomplete; helm goes on.
	r.mustHelm("upgrade", "kubizone", chart, "--set", "controller.replicas=3")
	objects := r.listObjects()
	stop := r.startServer(objects)
	r.waitForKinds()
	key := &rig.TSIGKey{Name: "transfer.example.", Algorithm: "hmac-sha256", Secret: "c2VjcmV0IG9mIHRoZSB0ZXN0"}
	must.Succeed(t, os.WriteFile(filepath.Join(r.data, "key"), []byte(key.Statement()), 0o600))
	r.waitReady("controller")
	primary := strings.TrimPrefix(r.waitReady("primary"), "DNS on ")
	if out, stderr, err := r.runKubectl(strings.Replace(zone, "z.example.}", "z.example., nameServers: [{name: ns.example.net.}]}", 1),
		"create", "-f", "-"); err != nil {
		t.Fatal(out, stderr)
	}
	r.mustKubectl("wait", "--for=condition=Ready", "zone/z", "-n", "team-a", "--timeout=2m")
	r.waitForDiagnosis("with a release", 0,
		map[string]string{"installation": "OK", "servers": "OK", "etcd": "OK", "zones": "OK all 1 are current"})

	// helm recreates lost objects by the command that the doctor names.
	const gone = "v1alpha1.bind9.kubi.zone"
	r.mustKubectl("delete", "apiservice", gone)
	r.waitForDiagnosis("without an APIService", 1, map[string]string{
		"CAUSE": "installation helm rollback kubizone REVISION -n " + kuberig.InstallNamespace})
	_, _, text := r.runDoctor()
	command, _, _ := strings.Cut(strings.Replace(text["CAUSE"], "REVISION", "2", 1), ", ")
	r.mustHelm(strings.Fields(command)[1:3]...)
	r.waitForDiagnosis("with what helm made again", 0, map[string]string{"installation": "OK", "clocks": "OK"})

	// The primary transfers the zone only with the key of its Secret.
	server := netip.MustParseAddrPort(primary)
	for _, dig := range []rig.Dig{{Server: server, Key: key}, {Server: server}} {
		var out string
		for start := time.Now(); time.Since(start) < waitTimeout; rig.Pause(start) {
			if out, _ = dig.Run(r.withTimeout(), "+noall", "+answer", "z.example.", "AXFR"); strings.Contains(out, "ns.example.net.") ||
				dig.Key == nil {
				break
			}
		}
		if strings.Contains(out, "ns.example.net.") != (dig.Key != nil) {
			t.Errorf("a transfer with the key %v:\n%s", dig.Key, out)
		}
	}

	t.Run("a scrape", r.expectScrape)

	t.Run("an account for Gardener", r.givesGardenerAnAccount)

	t.Run("an upgrade", r.expectUpgrade)

	r.log.forgiveLines(true) // without its roles, the server may be refused any request until its end
	r.mustHelm("uninstall", "kubizone")
	stop()
	r.expectAbsent(objects)
	// Objects of others stay.
	r.mustKubectl("get", "secret", "-n", kuberig.InstallNamespace, "kubizone-apiserver-serving")

	r.mustHelm("install", "kubizone", chart)
	stop = r.startServer(r.listObjects())
	r.waitForKinds()
	r.mustKubectl("delete", "zone", "-n", "team-a", "z")
	stop() // helm needs no server
	r.mustHelm("uninstall", "kubizone")
	r.mustKubectl("delete", "namespace", "team-a", namespaceTimeout)

	t.Run("from kustomize, and the namespace deleted first", r.movedAndLost)
}

// movedAndLost: helm takes over kubectl's objects, and upgrades them. Then the release's namespace is deleted first,
// and helm's state, too. The commands of both are those of docs/install.md.
func (r *release) movedAndLost(t *testing.T) {
	r.mustKubectl("delete", "namespace", kuberig.InstallNamespace, namespaceTimeout)
	r.mustKubectl("apply", "-k", r.dir)
	r.mustKubectl("create", "namespace", "team-a")
	for _, command := range readInstallPage(t, 2, "--field-manager=helm", "--take-ownership") {
		for i, argument := range command {
			command[i] = cmp.Or(map[string]string{".": r.dir, "...": chart}[argument], argument)
		}
		if command[0] == "helm" {
			r.mustHelm(command[1:]...)
		} else {
			r.mustKubectl(command[1:]...)
		}
	}
	r.mustHelm("upgrade", "kubizone", chart, "--set", "acme.enabled=true,image.tag=next") // kubectl owns no field of these
	objects := r.listObjects()
	// Kubernetes reports that an APIService without a server blocks the deletion.
	r.waitUnavailable()
	r.mustKubectl("delete", "namespace", kuberig.InstallNamespace, "--wait=false")
	r.runUntil("True", "get", "namespace", kuberig.InstallNamespace, "-o",
		`jsonpath={.status.conditions[?(@.type=="NamespaceDeletionDiscoveryFailure")].status}`)
	if _, err := r.runHelm("uninstall", "kubizone"); err == nil {
		t.Error("helm knows a release without its namespace: docs/install.md can name helm uninstall alone")
	}
	for _, command := range readInstallPage(t, 2, "-l app.kubernetes.io/part-of=kubizone") {
		r.mustKubectl(command[1:]...)
	}
	r.mustKubectl("wait", "--for=delete", "namespace/"+kuberig.InstallNamespace, namespaceTimeout)
	r.mustKubectl("delete", "namespace", "team-a", namespaceTimeout)
	r.expectAbsent(objects)
}

// readInstallPage returns the commands of docs/install.md that contain any of the texts, as program and arguments.
func readInstallPage(t *testing.T, want int, texts ...string) [][]string {
	t.Helper()
	page := must.Get(os.ReadFile("../../docs/install.md"))(t)
	var commands [][]string
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "    kubectl ") && !strings.HasPrefix(line, "    helm ") {
			continue
		}
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
			commands = append(commands, strings.Fields(line))
		}
	}
	if len(commands) != want {
		t.Fatalf("docs/install.md has the commands %q with %q, want %d", commands, texts, want)
	}
	return commands
}

// expectScrape: Prometheus' account reads /metrics by the ServiceMonitor, with the authority in the Secret and the
// Service's name.
func (r *release) expectScrape(t *testing.T) {
	kubeconfig := must.Get(r.kube.ServiceAccount(r.withTimeout(), "monitoring", "prometheus"))(t)
	config := must.Get(kuberig.ClientConfig(kubeconfig))(t)
	authority := must.Get(base64.StdEncoding.DecodeString(r.mustKubectl("get", "secret", "-n", kuberig.InstallNamespace,
		"kubizone-apiserver-serving", "-o", `jsonpath={.data.ca\.crt}`)))(t)
	config.Host = "https://127.0.0.1:" + r.port
	config.TLSClientConfig = rest.TLSClientConfig{CAData: authority, ServerName: kuberig.ServerName + "." + kuberig.InstallNamespace + ".svc"}
	client := must.Get(rest.UnversionedRESTClientFor(dynamic.ConfigFor(config)))(t)
	served := must.Get(client.Get().AbsPath("/metrics").DoRaw(r.withTimeout()))(t)
	for _, wrong := range metrics.Check("apiserver", string(served)) {
		t.Error(wrong)
	}
}

// givesGardenerAnAccount: the commands of docs/gardener.md make a kubeconfig that may only write Records in one
// namespace.
func (r *release) givesGardenerAnAccount(t *testing.T) {
	commands, err := rig.ReadConsole("../../docs/gardener.md", "Credentials")
	if err != nil || len(commands) == 0 {
		t.Fatalf("docs/gardener.md has %d commands: %v", len(commands), err)
	}
	r.mustKubectl("create", "namespace", "gardener")
	config := must.Get(kuberig.ClientConfig(r.kube.AdminKubeconfig()))(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\nexec "+r.kubectl+` "$@"`+"\n"), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	for _, c := range commands {
		if strings.HasPrefix(c.Line, "helm ") {
			r.mustHelm("upgrade", "kubizone", chart, "--set", "gardener.enabled=true", "--set", "gardener.namespaces={gardener}")
			r.runUntil("true", "get", "secret", "gardener-landscape", "-n", "gardener", "-o", `go-template={{if .data.token}}true{{end}}`)
			continue
		}
		command := exec.CommandContext(r.withTimeout(), "bash", "-c", strings.ReplaceAll(c.Line, "https://api.example.org", config.Host))
		command.Dir, command.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "KUBECONFIG="+r.kube.AdminKubeconfig())
		if out, err := command.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != strings.TrimSpace(c.Output) {
			t.Fatalf("$ %s%v\n%s", c.Line, err, out)
		}
	}
	account := []string{"--kubeconfig", filepath.Join(dir, "gardener.kubeconfig"), "auth", "can-i"}
	for _, want := range []struct{ ask, may string }{
		{"create records.kubi.zone -n gardener", "yes"}, {"update records.kubi.zone -n gardener", "yes"}, {"delete records.kubi.zone -n gardener", "yes"},
		{"create records.kubi.zone -n team-a", "no"}, {"list records.kubi.zone -n gardener", "no"}, {"get zones.kubi.zone -n team-a", "no"}, {"get secrets -n gardener", "no"},
	} {
		if out, _, _ := r.runKubectl("", append(account, strings.Fields(want.ask)...)...); strings.TrimSpace(out) != want.may {
			t.Errorf("the account may %s: %s, want %s", want.ask, out, want.may)
		}
	}
	// Another token: the Secret is deleted, and helm recreates the Secret.
	token := func() string {
		return r.mustKubectl("get", "secret", "gardener-landscape", "-n", "gardener", "--ignore-not-found", "-o",
			"go-template={{.data.token}}")
	}
	former := token()
	r.mustKubectl("delete", "secret", "gardener-landscape", "-n", "gardener")
	r.mustHelm("upgrade", "kubizone", chart, "--set", "gardener.enabled=true", "--set", "gardener.namespaces={gardener}")
	r.runUntil("true", "get", "secret", "gardener-landscape", "-n", "gardener", "-o", `go-template={{if .data.token}}true{{end}}`)
	if token() == former {
		t.Error("the Secret that was made again has the former token")
	}
	for start := time.Now(); ; rig.Pause(start) { // kube-apiserver caches a valid token for some seconds
		_, stderr, err := r.runKubectl("", "--kubeconfig", filepath.Join(dir, "gardener.kubeconfig"), "auth", "whoami")
		if err != nil && strings.Contains(stderr, "Unauthorized") {
			break
		}
		if time.Since(start) > waitTimeout {
			t.Fatalf("the former token is still valid: %v %s", err, stderr)
		}
	}
}

// expectUpgrade: an upgrade makes only the requested changes, keeps caBundle, and refuses changes that Kubernetes or
// the data cannot follow.
func (r *release) expectUpgrade(t *testing.T) {
	bundle := r.mustKubectl("get", "apiservice", kuberig.APIServiceName, "-o", caBundleOf)
	other := filepath.Join(t.TempDir(), "values.yaml")
	must.Succeed(t, os.WriteFile(other, []byte(otherValues), 0o600))
	r.mustHelm("upgrade", "kubizone", chart, "-f", other)
	if got := r.mustKubectl("get", "apiservice", kuberig.APIServiceName, "-o", caBundleOf); got != bundle || got == "" {
		t.Errorf("the upgrade changed caBundle from %.20s… to %.20s…", bundle, got)
	}
	if got := r.mustKubectl("get", "statefulset", "-n", kuberig.InstallNamespace, kuberig.ServerName, "-o",
		"jsonpath={..containers[0].args}"); !strings.Contains(got, "--lease-duration=20s") {
		t.Errorf("the controller is started with %s", got)
	}
	if got := r.mustKubectl("get", "statefulset", "-n", kuberig.InstallNamespace, kuberig.ServerName, "-o",
		`jsonpath={..env[?(@.name=="GOMEMLIMIT")].value}`); got != "3400MiB" {
		t.Errorf("with a limit of 4Gi GOMEMLIMIT is %s", got)
	}
	// Kubernetes keeps the claims of a StatefulSet by default.
	if got := r.mustKubectl("get", "statefulset", "-n", kuberig.InstallNamespace, kuberig.ServerName, "-o",
		"jsonpath={.spec.persistentVolumeClaimRetentionPolicy.whenDeleted}"); got != "Retain" {
		t.Errorf("claims of a StatefulSet that is deleted: %s", got)
	}
	for _, refused := range []struct{ value, want string }{
		{"mode=ha", "embedded is installed, and its zones would not be in ha"},
		{"storage.size=30Gi", "kubectl patch pvc"},
		{"storage.className=fast", "storage.className"},
	} {
		if out, err := r.runHelm("upgrade", "kubizone", chart, "--set", refused.value); err == nil ||
			!strings.Contains(err.Error(), refused.want) {
			t.Errorf("helm upgrade --set %s: %v\n%s", refused.value, err, out)
		}
	}
	if _, _, err := r.kube.WaitAvailable(r.withTimeout(), true); err != nil {
		t.Error(err)
	}
	r.mustHelm("rollback", "kubizone", "1")
	if got := r.mustKubectl("get", "apiservice", kuberig.APIServiceName, "-o", caBundleOf); got != bundle {
		t.Error("the rollback changed caBundle")
	}
}

// helm reports a missing image repository and an old Kubernetes version without a cluster, and accepts versions with a
// suffix, as clouds have.
func TestChart_isJudgedWithoutACluster(t *testing.T) {
	render := []string{"template", "kubizone", chart, "--set", "image.repository=kubizone"}
	for _, test := range []struct {
		arguments []string
		want      string // empty: success
	}{
		{[]string{"lint", chart}, "at '/image': missing property 'repository'"},
		{[]string{"lint", chart, "--strict", "--set", "image.repository=registry.example:5000/dns/kubizone"}, ""},
		{append(slices.Clone(render), "--kube-version", "1.34.9"), "chart requires kubeVersion"},
		{append(slices.Clone(render), "--kube-version", "v1.35.1-gke.100"), ""},
		{append(slices.Clone(render), "--set", "networkPolicy.apiCIDRs={10.0.0.0/8,::/0,2001:db8::1/128,::ffff:192.0.2.1/96}"), ""},
	} {
		out, err := runHelm(t, nil, test.arguments...)
		if message := fmt.Sprint(err) + out; (err == nil) != (test.want == "") || !strings.Contains(message, test.want) {
			t.Errorf("helm %s: %s, want %q", strings.Join(test.arguments, " "), message, test.want)
		}
	}
}

// The schema of the chart refuses misspelt keys, and values that a program would refuse at its start, before anything
// is installed.
func TestChart_refusesWrongValues(t *testing.T) {
	for value, want := range map[string]string{
		"contoller.enabled=false":                 "additional properties 'contoller' not allowed",
		"controller.replcas=3":                    "at '/controller': additional properties 'replcas' not allowed",
		"mode=cluster":                            "must be one of 'embedded', 'ha', 'external-etcd'",
		"mode=external-etcd":                      "at '/externalEtcd/servers': minItems",
		"apiserver.resources.limits.memory=2G":    "at '/apiserver/resources/limits/memory'",
		"networkPolicy.apiCIDRs={10.0.0.1}":       "at '/networkPolicy/apiCIDRs/0'",
		"classes.internal.secrets.dns=transfer":   "at '/classes/internal/secrets/dns': got string, want array",
		"image.repository=":                       "at '/image/repository'",
		"image.repository=reg/kubizone:v1":        "at '/image/repository'",
		"networkPolicy.apiCIDRs={10.0.0.0/33}":    "at '/networkPolicy/apiCIDRs/0'",
		"networkPolicy.dnsCIDRs={2001:db8::/129}": "at '/networkPolicy/dnsCIDRs/0'",
		"apiserver.securePort=443":                "at '/apiserver/securePort': minimum",

		`fleet.podLabels.app\.kubernetes\.io/name=other`: "at '/fleet/podLabels/app.kubernetes.io~1name'",
		"primary.extraEnv[0].name=GOMEMLIMIT":            "at '/primary/extraEnv/0/name'",
		"controller.resources.limits=null":               "at '/controller/resources': missing property 'limits'",
		"apiserver.resources.limits.memory=2":            "at '/apiserver/resources/limits/memory'",

		"controller.nodeSelector.a=b": "in the server's pod: set apiserver.nodeSelector",
		"primary.enabled=true,primary.extraEnv[0].name=A,primary.extraEnv[0].value=b": "primary.extraEnv: in the mode embedded",

		"gardener.enabled=true":                         "at '/gardener/namespaces': minItems",
		"gardener.enabled=true,gardener.namespaces={*}": "at '/gardener/namespaces/0'",

		"primary.enabled=true,primary.tsigSecretName=,primary.transferTo={192.0.2.53}": "primary.transferTo names secondaries, and without primary.tsigSecretName",
	} {
		_, err := runHelm(t, nil, "template", "kubizone", chart, "--set", "image.repository=kubizone", "--set", value)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}
