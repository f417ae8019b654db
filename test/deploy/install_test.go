// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const waitTimeout = 2 * time.Minute

// namespaceTimeout exceeds the minute before the namespace controller retries a deletion.
const namespaceTimeout = "--timeout=3m"

type installation struct {
	t       *testing.T
	kube    *kuberig.Kube
	kubectl string
	binary  string
	dir     string // the applied kustomization
	data    string // of the server's etcd
	port    string // of the server
	log     *buffer
	// discovered is a discovery cache: ports are reused by other control planes.
	discovered string
}

func (i *installation) withTimeout() context.Context {
	ctx, cancel := context.WithTimeout(i.t.Context(), 2*waitTimeout)
	i.t.Cleanup(cancel)
	return ctx
}

func (i *installation) runKubectl(stdin string, arguments ...string) (out, stderr string, err error) {
	command := exec.CommandContext(i.withTimeout(), i.kubectl, append([]string{"--kubeconfig", i.kube.AdminKubeconfig()}, arguments...)...)
	command.Env = append(os.Environ(), i.discovered)
	var o, e bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &o, &e
	err = command.Run()
	return o.String(), e.String(), err
}

// mustKubectl permits no warning either.
func (i *installation) mustKubectl(arguments ...string) string {
	i.t.Helper()
	out, stderr, err := i.runKubectl("", arguments...)
	if err != nil || strings.Contains(stderr, "arning") {
		i.t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(arguments, " "), err, out, stderr)
	}
	return strings.TrimSpace(out)
}

func (i *installation) runUntil(want string, arguments ...string) {
	i.t.Helper()
	var out, stderr string
	for start := time.Now(); time.Since(start) < waitTimeout; rig.Pause(start) {
		if out, stderr, _ = i.runKubectl("", arguments...); strings.TrimSpace(out) == want {
			return
		}
	}
	i.t.Fatalf("kubectl %s says %q, want %q\n%s", strings.Join(arguments, " "), out, want, stderr)
}

func (i *installation) waitUnavailable() {
	i.t.Helper()
	if _, _, err := i.kube.WaitAvailable(i.withTimeout(), false); err != nil {
		i.t.Fatal(err)
	}
}

// newInstallation starts a control plane and applies the form with two changes for want of a pod network: the Service
// is an alias of this machine, and the port is the server's.
func newInstallation(t *testing.T, form string) *installation {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	i := &installation{t: t, kubectl: findKubectl(t), data: t.TempDir(), discovered: "KUBECACHEDIR=" + t.TempDir()}
	for _, program := range []string{"kube-apiserver", "kube-controller-manager"} {
		rig.Need(rig.KubeProgram(program))(t)
	}

	i.binary = must.Get(rig.Kubizone(t.Context(), t.TempDir(), ""))(t)
	i.kube = must.Get(kuberig.StartKube(i.withTimeout(), t.TempDir(), kuberig.KubeConfig{ControllerManager: true}))(t)
	t.Cleanup(func() { i.kube.Close() })
	at := must.Get(rig.FreePort())(t)
	i.port = fmt.Sprint(at.Port())
	i.dir = writeKustomization(t, form, "components: [DEPLOY/aggregate-roles]\n"+i.makePatches())
	return i
}

func (i *installation) makePatches() string {
	return `patches:
- target: {kind: Service, name: kubizone-apiserver}
  patch: |-
    - {op: replace, path: /spec, value: {type: ExternalName, externalName: localhost, ports: [{port: ` + i.port + `}]}}
- target: {kind: APIService}
  patch: |-
    - {op: replace, path: /spec/service/port, value: ` + i.port + `}
`
}

func (i *installation) startServer(objects []*unstructured.Unstructured) (stop func()) {
	i.t.Helper()
	i.log, stop = i.startProgram(kuberig.ServerName, findPodTemplate(i.t, objects).Spec.Containers[0].Args)
	return stop
}

// startProgram runs the binary as the pod would, with arguments in place of the pod's environment.
func (i *installation) startProgram(account string, arguments []string) (log *buffer, stop func()) {
	t := i.t
	t.Helper()
	kubeconfig := must.Get(i.kube.ServiceAccount(i.withTimeout(), kuberig.InstallNamespace, account))(t)
	replacer := strings.NewReplacer(
		"$(POD_NAMESPACE)", kuberig.InstallNamespace, "/var/lib/kubizone", i.data, "--secure-port=10250", "--secure-port="+i.port,
		"--shutdown-delay-duration=10s", "--shutdown-delay-duration=0s",
		"--health-listen=:8080", "--health-listen=127.0.0.1:0", "--health-listen=:8081", "--health-listen=127.0.0.1:0",
		"--dns-listen=:5353", "--dns-listen=127.0.0.1:0", "/run/kubizone/tsig", i.data,
	)
	var all []string
	for _, arguments := range splitCommands(arguments) {
		if len(all) > 0 {
			all = append(all, "--")
		}
		for _, argument := range arguments {
			all = append(all, replacer.Replace(argument))
		}
		all = append(all, "--kubeconfig="+kubeconfig)
		switch arguments[0] {
		case "apiserver":
			all = append(all, "--bind-address=127.0.0.1")
		case "controller":
			all = append(all, rig.LongLease)
		}
	}
	log = &buffer{}
	command := exec.Command(i.binary, all...)
	command.Stdout, command.Stderr = log, log
	must.Succeed(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	stop = sync.OnceFunc(func() {
		command.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(waitTimeout):
			command.Process.Kill()
			t.Errorf("%s does not stop", account)
		}
	})
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("%s says:\n%s", account, log.String())
		}
		for line := range strings.Lines(log.readStrict()) {
			if strings.Contains(line, "forbidden") || strings.Contains(line, "lacks the RBAC rule") {
				t.Errorf("%s was refused something: %s", account, line)
			}
		}
	})
	return log, stop
}

type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	// strict has the output written while forgives was false.
	strict   bytes.Buffer
	forgives bool
}

func (b *buffer) forgiveLines(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgives = yes
}

func (b *buffer) readStrict() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.strict.String()
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.forgives {
		b.strict.Write(p)
	}
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

const zone = "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: z, namespace: team-a}\nspec: {domainName: z.example.}\n"

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

const caBundleOf = "jsonpath={.spec.caBundle}"

// M2, M3, M4: the life of an installation.
func TestInstall_untilUninstalled(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "embedded")
	i.mustKubectl("create", "namespace", "team-a")

	// M2: everything in one apply, before the server.
	if out := i.mustKubectl("apply", "-k", i.dir); strings.Contains(out, "unchanged") {
		t.Errorf("the first apply:\n%s", out)
	}
	i.waitUnavailable()
	// docs/install.md: before the server's first start, kube-apiserver does not know its kinds.
	if _, stderr, err := i.runKubectl(zone, "apply", "-f", "-"); err == nil || !strings.Contains(stderr, "no matches for kind") {
		t.Errorf("before the server was there: %v %s", err, stderr)
	}
	i.waitForDiagnosis("before the server runs", 1, map[string]string{
		"apiservices": "FAIL FailedDiscoveryCheck", "trust": "FAIL empty", "installation": "OK", "servers": "WARN refused",
		"zones": "WARN", "CAUSE": "trust see its log",
	})
	stop := i.startServer(renderKustomization(t, i.dir))
	if _, _, err := i.kube.WaitAvailable(i.withTimeout(), true); err != nil {
		t.Fatal(err)
	}
	bundle := i.mustKubectl("get", "apiservice", kuberig.APIServiceName, "-o", caBundleOf)
	if bundle == "" {
		t.Fatal("Available without a caBundle")
	}

	// M2: no further apply, of any kind, removes caBundle.
	for _, again := range [][]string{
		{"apply", "-k", i.dir},
		{"apply", "--server-side", "--force-conflicts", "--field-manager=gitops", "-k", i.dir},
		{"apply", "--server-side", "--field-manager=gitops", "-k", i.dir},
	} {
		i.mustKubectl(again...)
		if got := i.mustKubectl("get", "apiservice", kuberig.APIServiceName, "-o", caBundleOf); got != bundle {
			t.Fatalf("kubectl %s changed caBundle from %.20s… to %.20s…", strings.Join(again, " "), bundle, got)
		}
	}
	if _, _, err := i.kube.WaitAvailable(i.withTimeout(), true); err != nil {
		t.Fatal(err)
	}

	i.waitForDiagnosis("with a server", 0, map[string]string{
		"apiservices": "OK 2 are available", "trust": "OK kube-apiserver trusts", "certificates": "OK", "servers": "OK", "etcd": "OK",
		"zones": "OK", "clocks": "OK",
	})
	t.Run("with a server", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"a new authority costs no request": i.newAuthority, "a tenant has what the aggregated roles say": i.expectTenant,
			"a pod of the template is admitted": i.expectAdmitted,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // the new authority takes a minute
				test(t)
			})
		}
	})

	stop()
	i.waitUnavailable()
	// docs/install.md: from then on, an apply while the server is down is told to retry.
	if _, stderr, err := i.runKubectl(zone, "apply", "-f", "-"); err == nil || !strings.Contains(stderr, "ServiceUnavailable") {
		t.Errorf("while the server is away: %v %s", err, stderr)
	}

	// M4
	i.mustKubectl("delete", "apiservice", kuberig.APIServiceName)
	i.mustKubectl("delete", "-k", i.dir, "--ignore-not-found", namespaceTimeout)
	i.expectAbsent(renderKustomization(t, i.dir))
	i.mustKubectl("delete", "namespace", "team-a", namespaceTimeout)
}

func (i *installation) expectAbsent(objects []*unstructured.Unstructured) {
	i.t.Helper()
	var all bytes.Buffer
	for _, object := range objects {
		text := must.Get(yaml.Marshal(object))(i.t)
		all.WriteString("---\n")
		all.Write(text)
	}
	if out, stderr, err := i.runKubectl(all.String(), "get", "-f", "-", "--ignore-not-found", "-o", "name"); err != nil || out != "" {
		i.t.Errorf("left after uninstall (%v):\n%s%s", err, out, stderr)
	}
}

// newAuthority: an administrator deletes the Secret. Until the new leaf is served, a client that connects like
// kube-apiserver trusts the server, and requests through kube-apiserver are answered.
func (i *installation) newAuthority(t *testing.T) {
	client := must.Get(kubernetes.NewForConfig(i.kube.Admin()))(t)
	services := must.Get(dynamic.NewForConfig(i.kube.Admin()))(t)
	var first []byte
	for start := time.Now(); time.Since(start) < waitTimeout; time.Sleep(500 * time.Millisecond) {
		if err := client.RESTClient().Get().AbsPath("/apis/kubi.zone/v1alpha1/namespaces/team-a/zones").Do(t.Context()).Error(); err != nil {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		service := must.Get(services.Resource(apiServices).Get(t.Context(), kuberig.APIServiceName, metav1.GetOptions{}))(t)
		encoded, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
		bundle := must.Get(base64.StdEncoding.DecodeString(encoded))(t)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(bundle)
		conn, err := tls.Dial("tcp", "127.0.0.1:"+i.port, &tls.Config{RootCAs: roots, ServerName: kuberig.ServerName + "." + kuberig.InstallNamespace + ".svc"})
		if err != nil {
			t.Fatalf("after %s: %v", time.Since(start), err)
		}
		shown := conn.ConnectionState().PeerCertificates[0].Raw
		conn.Close()
		if first == nil {
			first = shown
			i.mustKubectl("delete", "secret", "-n", kuberig.InstallNamespace, "kubizone-apiserver-serving")
		} else if !bytes.Equal(first, shown) {
			return
		}
	}
	t.Error("the server goes on with the old certificate")
}

func (i *installation) expectTenant(t *testing.T) {
	i.mustKubectl("create", "rolebinding", "alice", "-n", "team-a", "--clusterrole=edit", "--user=alice")
	// kube-controller-manager aggregates.
	i.runUntil("yes", "auth", "can-i", "create", "records.kubi.zone", "-n", "team-a", "--as=alice")
	for _, refused := range [][]string{
		{"create", "zones.kubi.zone"}, {"create", "zones.kubi.zone", "--subresource=establish"}, {"update", "records.kubi.zone", "--subresource=status"},
	} {
		out, _, _ := i.runKubectl("", slices.Concat([]string{"auth", "can-i"}, refused, []string{"-n", "team-a", "--as=alice"})...)
		if strings.TrimSpace(out) != "no" {
			t.Errorf("%q: %s", refused, out)
		}
	}
	i.mustKubectl("get", "zones", "-n", "team-a", "--as=alice")
	if _, stderr, err := i.runKubectl(zone, "create", "-f", "-", "--as=alice"); err == nil || !strings.Contains(stderr, "forbidden") {
		t.Errorf("a tenant's zone: %v %s", err, stderr)
	}
	if out, stderr, err := i.runKubectl(zone, "create", "-f", "-"); err != nil {
		t.Errorf("the administrator's zone: %v %s%s", err, out, stderr)
	}
}

// expectAdmitted: the pods of every form satisfy the namespace's Pod Security labels and quota.
func (i *installation) expectAdmitted(t *testing.T) {
	for _, form := range forms {
		objects := renderKustomization(t, filepath.Join(manifests, form))
		template := findPodTemplate(t, objects)
		pod := &corev1.Pod{Spec: template.Spec}
		pod.APIVersion, pod.Kind, pod.Name, pod.Namespace, pod.Labels = "v1", "Pod", "kubizone-apiserver-0", kuberig.InstallNamespace, template.Labels
		// The volume of the claim, which the StatefulSet's controller adds.
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "data" }) && form != "external-etcd" {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-kubizone-apiserver-0"}}})
		}
		text := must.Get(yaml.Marshal(pod))(t)
		if out, stderr, err := i.runKubectl(string(text), "create", "--dry-run=server", "-f", "-"); err != nil || stderr != "" {
			t.Errorf("%s: %v\n%s%s", form, err, out, stderr)
		}
		// The rest of the form, beside the installed objects.
		var all bytes.Buffer
		for _, object := range objects {
			if object.GetKind() == "Service" && object.GetName() == kuberig.ServerName {
				continue // an alias here
			}
			if object.GetKind() == "StatefulSet" || object.GetKind() == "Deployment" {
				object.SetName(form) // fields of an existing StatefulSet cannot change
			}
			text := must.Get(yaml.Marshal(object))(t)
			all.WriteString("---\n")
			all.Write(text)
		}
		if out, stderr, err := i.runKubectl(all.String(), "apply", "--dry-run=server", "--server-side", "--force-conflicts", "-f",
			"-"); err != nil || strings.Contains(stderr, "arning") {
			t.Errorf("%s: %v\n%s%s", form, err, out, stderr)
		}
	}
	privileged := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"` + kuberig.InstallNamespace + `"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	if _, stderr, err := i.runKubectl(privileged, "create", "--dry-run=server", "-f", "-"); err == nil ||
		!strings.Contains(stderr, "restricted") {
		t.Errorf("a pod that is not restricted is admitted: %v %s", err, stderr)
	}
}
