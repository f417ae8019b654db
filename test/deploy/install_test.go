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

	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// waitTimeout bounds every wait for a fact.
const waitTimeout = 2 * time.Minute

// namespaceTimeout is longer than the controller of namespaces waits before it tries a deletion again, a minute.
const namespaceTimeout = "--timeout=3m"

// installation is a control plane on which a test installs.
type installation struct {
	t       *testing.T
	kube    *kuberig.Kube
	kubectl string
	binary  string
	dir     string  // the kustomization that is applied
	data    string  // of the server's etcd
	port    string  // of the server
	log     *buffer // what the server says
	// discovered tells kubectl and helm to keep what they discover where no other test does: what they have of a port
	// is of another control plane when the port is given out again.
	discovered string
}

// context is for one program, which may wait for as long as namespaceTimeout says.
func (i *installation) context() context.Context {
	ctx, cancel := context.WithTimeout(i.t.Context(), 2*waitTimeout)
	i.t.Cleanup(cancel)
	return ctx
}

// run is kubectl as administrator; stdin may be empty.
func (i *installation) run(stdin string, arguments ...string) (out, stderr string, err error) {
	command := exec.CommandContext(i.context(), i.kubectl, append([]string{"--kubeconfig", i.kube.AdminKubeconfig()}, arguments...)...)
	command.Env = append(os.Environ(), i.discovered)
	var o, e bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &o, &e
	err = command.Run()
	return o.String(), e.String(), err
}

// must is run without trouble: no error and not a warning either.
func (i *installation) must(arguments ...string) string {
	i.t.Helper()
	out, stderr, err := i.run("", arguments...)
	if err != nil || strings.Contains(stderr, "arning") {
		i.t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(arguments, " "), err, out, stderr)
	}
	return strings.TrimSpace(out)
}

// until repeats kubectl until it says what is wanted.
func (i *installation) until(want string, arguments ...string) {
	i.t.Helper()
	var out, stderr string
	for start := time.Now(); time.Since(start) < waitTimeout; rig.Pause(start) {
		if out, stderr, _ = i.run("", arguments...); strings.TrimSpace(out) == want {
			return
		}
	}
	i.t.Fatalf("kubectl %s says %q, want %q\n%s", strings.Join(arguments, " "), out, want, stderr)
}

// newInstallation starts a control plane. The form is applied to it with two changes, for want of a network
// of pods: the Service is an alias of this machine, and the port is the server's own.
func newInstallation(t *testing.T, form string) *installation {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	i := &installation{t: t, kubectl: kubectl(t), data: t.TempDir(), discovered: "KUBECACHEDIR=" + t.TempDir()}
	for _, program := range []string{"kube-apiserver", "kube-controller-manager"} {
		_, err := rig.KubeProgram(program)
		rig.SkipMissing(t, err)
	}
	var err error
	if i.binary, err = rig.Kubizone(t.Context(), t.TempDir(), ""); err != nil {
		t.Fatal(err)
	}
	if i.kube, err = kuberig.StartKube(i.context(), t.TempDir(), kuberig.KubeConfig{ControllerManager: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.kube.Close() })
	at, err := rig.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	i.port = fmt.Sprint(at.Port())
	i.dir = kustomization(t, form, "components: [DEPLOY/aggregate-roles]\n"+i.patches())
	return i
}

func (i *installation) patches() string {
	return `patches:
- target: {kind: Service, name: kubizone-apiserver}
  patch: |-
    - {op: replace, path: /spec, value: {type: ExternalName, externalName: localhost, ports: [{port: ` + i.port + `}]}}
- target: {kind: APIService}
  patch: |-
    - {op: replace, path: /spec/service/port, value: ` + i.port + `}
`
}

// startServer starts the API server of the objects that are installed.
func (i *installation) startServer(objects []*unstructured.Unstructured) (stop func()) {
	i.t.Helper()
	i.log, stop = i.start(kuberig.ServerName, workload(i.t, objects).Spec.Containers[0].Args, "--bind-address=127.0.0.1")
	return stop
}

// start runs the binary as the pod would: the arguments of its container, its service account, and the further ones
// that stand for what a pod has without a flag.
func (i *installation) start(account string, arguments []string, further ...string) (log *buffer, stop func()) {
	t := i.t
	t.Helper()
	kubeconfig, err := i.kube.ServiceAccount(i.context(), kuberig.InstallNamespace, account)
	if err != nil {
		t.Fatal(err)
	}
	replacer := strings.NewReplacer(
		"$(POD_NAMESPACE)", kuberig.InstallNamespace, "/var/lib/kubizone", i.data, "--secure-port=10250", "--secure-port="+i.port,
		"--shutdown-delay-duration=10s", "--shutdown-delay-duration=0s",
		"--health-listen=:8080", "--health-listen=127.0.0.1:0", "--dns-listen=:5353", "--dns-listen=127.0.0.1:0", "/run/kubizone/tsig", i.data,
	)
	var all []string
	for _, argument := range arguments {
		all = append(all, replacer.Replace(argument))
	}
	log = &buffer{}
	command := exec.Command(i.binary, slices.Concat(all, further, []string{"--kubeconfig=" + kubeconfig})...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
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
		for line := range strings.Lines(log.counted()) {
			if strings.Contains(line, "forbidden") || strings.Contains(line, "lacks the RBAC rule") {
				t.Errorf("%s was refused something: %s", account, line)
			}
		}
	})
	return log, stop
}

// buffer is what a process writes while a test reads.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	// strict is what was written while forgives was false.
	strict   bytes.Buffer
	forgives bool
}

// forgive begins or ends a time in which the process may say what it likes.
func (b *buffer) forgive(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgives = yes
}

// counted is what was written outside of such times.
func (b *buffer) counted() string {
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
	i.must("create", "namespace", "team-a")

	// M2: everything in one apply, the server after it.
	if out := i.must("apply", "-k", i.dir); strings.Contains(out, "unchanged") {
		t.Errorf("the first apply:\n%s", out)
	}
	i.until("False", "get", "apiservice", kuberig.APIServiceName, "-o", `jsonpath={.status.conditions[?(@.type=="Available")].status}`)
	// docs/install.md: before it was there the first time, kube-apiserver knows no kinds of it.
	if _, stderr, err := i.run(zone, "apply", "-f", "-"); err == nil || !strings.Contains(stderr, "no matches for kind") {
		t.Errorf("before the server was there: %v %s", err, stderr)
	}
	i.diagnosed("before the server runs", 1, map[string]string{
		"apiservice": "FAIL FailedDiscoveryCheck", "cabundle": "FAIL empty", "permissions": "OK", "ready": "WARN refused", "version": "OK",
	})
	stop := i.startServer(render(t, i.dir))
	if _, _, err := i.kube.WaitAvailable(i.context(), true); err != nil {
		t.Fatal(err)
	}
	bundle := i.must("get", "apiservice", kuberig.APIServiceName, "-o", caBundleOf)
	if bundle == "" {
		t.Fatal("Available without a caBundle")
	}

	// M2: every further apply, of any kind, leaves caBundle.
	for _, again := range [][]string{
		{"apply", "-k", i.dir},
		{"apply", "--server-side", "--force-conflicts", "--field-manager=gitops", "-k", i.dir},
		{"apply", "--server-side", "--field-manager=gitops", "-k", i.dir},
	} {
		i.must(again...)
		if got := i.must("get", "apiservice", kuberig.APIServiceName, "-o", caBundleOf); got != bundle {
			t.Fatalf("kubectl %s changed caBundle from %.20s… to %.20s…", strings.Join(again, " "), bundle, got)
		}
	}
	if _, _, err := i.kube.WaitAvailable(i.context(), true); err != nil {
		t.Fatal(err)
	}

	i.diagnosed("with a server", 0, map[string]string{
		"apiservice": "OK", "cabundle": "OK 1 authorities", "certificate": "OK kube-apiserver trusts", "permissions": "OK", "ready": "OK", "version": "OK",
	})
	i.log.forgive(true) // what it is refused without the binding is as it should be
	i.must("delete", "clusterrolebinding", "kubizone-apiserver-auth-delegator")
	i.diagnosed("without a binding", 1, map[string]string{"permissions": "FAIL tokenreviews", "apiservice": "OK"})
	i.must("apply", "--server-side", "--field-manager=gitops", "-k", i.dir)
	i.diagnosed("with the binding again", 0, map[string]string{"permissions": "OK", "apiservice": "OK"})
	i.log.forgive(false)

	t.Run("a new authority costs no request", i.newAuthority)
	t.Run("a tenant has what the aggregated roles say", i.tenant)
	t.Run("a pod of the template is admitted", i.admitted)

	stop()
	i.until("False", "get", "apiservice", kuberig.APIServiceName, "-o", `jsonpath={.status.conditions[?(@.type=="Available")].status}`)
	// docs/install.md: from then on an apply that comes while it is away is told to come again.
	if _, stderr, err := i.run(zone, "apply", "-f", "-"); err == nil || !strings.Contains(stderr, "ServiceUnavailable") {
		t.Errorf("while the server is away: %v %s", err, stderr)
	}

	// M4
	i.must("delete", "apiservice", kuberig.APIServiceName)
	i.must("delete", "-k", i.dir, "--ignore-not-found", namespaceTimeout)
	i.absent(render(t, i.dir))
	i.must("delete", "namespace", "team-a", namespaceTimeout)
}

// absent fails where an object was left after an uninstall.
func (i *installation) absent(objects []*unstructured.Unstructured) {
	i.t.Helper()
	var all bytes.Buffer
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			i.t.Fatal(err)
		}
		all.WriteString("---\n")
		all.Write(text)
	}
	if out, stderr, err := i.run(all.String(), "get", "-f", "-", "--ignore-not-found", "-o", "name"); err != nil || out != "" {
		i.t.Errorf("left after uninstall (%v):\n%s%s", err, out, stderr)
	}
}

// newAuthority: an administrator deletes the Secret. From then until the new leaf is served, a client that connects as
// kube-apiserver does trusts what it is shown, and requests through kube-apiserver are answered.
func (i *installation) newAuthority(t *testing.T) {
	client, err := kubernetes.NewForConfig(i.kube.Admin())
	if err != nil {
		t.Fatal(err)
	}
	services, err := dynamic.NewForConfig(i.kube.Admin())
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for start := time.Now(); time.Since(start) < waitTimeout; time.Sleep(100 * time.Millisecond) {
		if err := client.RESTClient().Get().AbsPath("/apis/kubi.zone/v1alpha1/namespaces/team-a/zones").Do(t.Context()).Error(); err != nil {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		service, err := services.Resource(apiServices).Get(t.Context(), kuberig.APIServiceName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		encoded, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
		bundle, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
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
			i.must("delete", "secret", "-n", kuberig.InstallNamespace, "kubizone-apiserver-serving")
		} else if !bytes.Equal(first, shown) {
			return
		}
	}
	t.Error("the server goes on with the old certificate")
}

func (i *installation) tenant(t *testing.T) {
	i.must("create", "rolebinding", "alice", "-n", "team-a", "--clusterrole=edit", "--user=alice")
	// kube-controller-manager aggregates.
	i.until("yes", "auth", "can-i", "create", "records.kubi.zone", "-n", "team-a", "--as=alice")
	for _, refused := range [][]string{
		{"create", "zones.kubi.zone"}, {"create", "zones.kubi.zone", "--subresource=establish"}, {"update", "records.kubi.zone", "--subresource=status"},
	} {
		out, _, _ := i.run("", slices.Concat([]string{"auth", "can-i"}, refused, []string{"-n", "team-a", "--as=alice"})...)
		if strings.TrimSpace(out) != "no" {
			t.Errorf("%q: %s", refused, out)
		}
	}
	i.must("get", "zones", "-n", "team-a", "--as=alice")
	if _, stderr, err := i.run(zone, "create", "-f", "-", "--as=alice"); err == nil || !strings.Contains(stderr, "forbidden") {
		t.Errorf("a tenant's zone: %v %s", err, stderr)
	}
	if out, stderr, err := i.run(zone, "create", "-f", "-"); err != nil {
		t.Errorf("the administrator's zone: %v %s%s", err, out, stderr)
	}
}

// admitted: with the namespace's Pod Security labels and quota, the controllers of pods could make them, in every form.
func (i *installation) admitted(t *testing.T) {
	for _, form := range forms {
		objects := render(t, filepath.Join(manifests, form))
		template := workload(t, objects)
		pod := &corev1.Pod{Spec: template.Spec}
		pod.APIVersion, pod.Kind, pod.Name, pod.Namespace, pod.Labels = "v1", "Pod", "kubizone-apiserver-0", kuberig.InstallNamespace, template.Labels
		// The volume of the claim, which the StatefulSet's controller adds.
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "data" }) && form != "external-etcd" {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-kubizone-apiserver-0"}}})
		}
		text, err := yaml.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		if out, stderr, err := i.run(string(text), "create", "--dry-run=server", "-f", "-"); err != nil || stderr != "" {
			t.Errorf("%s: %v\n%s%s", form, err, out, stderr)
		}
		// The rest of the form, beside what is there.
		var all bytes.Buffer
		for _, object := range objects {
			if object.GetKind() == "Service" && object.GetName() == kuberig.ServerName {
				continue // an alias here
			}
			if object.GetKind() == "StatefulSet" || object.GetKind() == "Deployment" {
				object.SetName(form) // fields of a StatefulSet that is there do not change
			}
			text, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString("---\n")
			all.Write(text)
		}
		if out, stderr, err := i.run(all.String(), "apply", "--dry-run=server", "--server-side", "--force-conflicts", "-f", "-"); err != nil || strings.Contains(stderr, "arning") {
			t.Errorf("%s: %v\n%s%s", form, err, out, stderr)
		}
	}
	privileged := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"` + kuberig.InstallNamespace + `"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	if _, stderr, err := i.run(privileged, "create", "--dry-run=server", "-f", "-"); err == nil || !strings.Contains(stderr, "restricted") {
		t.Errorf("a pod that is not restricted is admitted: %v %s", err, stderr)
	}
}
