// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// asController in the environment makes this test binary the controller.
const asController = "KUBIZONE_GARDENER_TEST_AS_CONTROLLER"

// Without a logger controller-runtime prints a stack trace.
const logs = "controller-runtime logs:"

const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(asController) != "" {
		main()
		fmt.Println(logs, log.Log.Enabled())
		return
	}
	code := m.Run()
	for _, seed := range []*seed{first.made, second.made} {
		if seed == nil {
			continue
		}
		if err := seed.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// seed is a kube-apiserver with Gardener's CRDs; the first has Kubizone, too.
type seed struct {
	client.Client
	config   *rest.Config
	kube     *kubernetes.Clientset
	kubizone *versioned.Clientset
	path     string // of the administrator's kubeconfig
	// controller runs at most once, since two would reconcile the same DNSRecords. Tests with the same flags share it.
	controller *controllerProcess

	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	errors  *buffer
	home    string
}

type once struct {
	sync.Once
	part string // of the control plane; "" is all
	made *seed
	err  error
}

// The second only receives shoots: their Records are in the first's Kubizone.
var first, second = once{}, once{part: "kube"}

func requireSeed(t *testing.T, o *once) *seed {
	t.Helper()
	o.Do(func() { o.made, o.err = startSeed(o.part) })
	if o.err != nil {
		if os.Getenv("KUBIZONE_TEST_REQUIRE_ALL") == "" && strings.Contains(o.err.Error(), "hack/build-kube.sh") {
			t.Skip(o.err)
		}
		t.Fatal(o.err)
	}
	return o.made
}

type buffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

// controlPlane builds test/controlplane, once, in the product's module with its vendor/.
var controlPlane = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kubizone-gardener-bin-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "controlplane")
	build := exec.Command("go", "build", "-o", program, "./test/controlplane")
	build.Dir, build.Env = "../..", productEnvironment()
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build test/controlplane: %w\n%s", err, out)
	}
	return program, nil
})

// productEnvironment is the Makefile's.
func productEnvironment() []string {
	return append(os.Environ(), "GOWORK=", "CGO_ENABLED=0", "GOGC=400", "GOFLAGS=-mod=vendor -buildvcs=false -trimpath -gcflags=all=-dwarf=false")
}

func startSeed(part string) (_ *seed, err error) {
	program, err := controlPlane()
	if err != nil {
		return nil, err
	}
	s := &seed{errors: &buffer{}}
	if s.home, err = os.MkdirTemp("", "kubizone-gardener-"); err != nil {
		return nil, err
	}
	s.process = exec.Command(program, part)
	s.process.Dir, s.process.Env, s.process.Stderr = "../..", append(productEnvironment(), "TMPDIR="+s.home), s.errors
	if s.in, err = s.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewScanner(out)
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	if !s.out.Scan() {
		err := errors.Join(s.out.Err(), s.process.Wait())
		return nil, fmt.Errorf("the control plane did not start: %w\n%s", err, s.errors)
	}
	s.path = s.out.Text()
	if s.config, err = clientcmd.BuildConfigFromFlags("", s.path); err != nil {
		return nil, err
	}
	s.config.QPS = -1
	if s.Client, err = client.New(s.config, client.Options{Scheme: extensionscontroller.ExtensionsScheme}); err != nil {
		return nil, err
	}
	if s.kube, err = kubernetes.NewForConfig(s.config); err != nil {
		return nil, err
	}
	if s.kubizone, err = versioned.NewForConfig(s.config); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	return s, s.installCRDs(ctx)
}

func (s *seed) installCRDs(ctx context.Context) error {
	for _, kind := range []string{"dnsrecords", "clusters"} {
		text, err := os.ReadFile("testdata/10-crd-extensions.gardener.cloud_" + kind + ".yaml")
		if err != nil {
			return err
		}
		var crd unstructured.Unstructured
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			return err
		}
		if err := s.Create(ctx, &crd); err != nil {
			return err
		}
		if err := pollUntil(ctx, func() error {
			if err := s.Get(ctx, client.ObjectKeyFromObject(&crd), &crd); err != nil {
				return err
			}
			conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
			for _, one := range conditions {
				if c := one.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
					return nil
				}
			}
			return fmt.Errorf("CRD %s is not established", kind)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *seed) close() (err error) {
	if s.controller != nil {
		err = s.controller.stopProcess()
	}
	s.in.Close()
	s.process.Wait()
	os.RemoveAll(s.home)
	if program, err := controlPlane(); err == nil {
		os.RemoveAll(filepath.Dir(program))
	}
	return err
}

func (s *seed) executeCommand(t *testing.T, command string) (value string) {
	t.Helper()
	mustGet(fmt.Fprintln(s.in, command))(t)
	if !s.out.Scan() || !strings.HasPrefix(s.out.Text(), "done") {
		t.Fatalf("%s: %s %v\n%s", command, s.out.Text(), s.out.Err(), s.errors)
	}
	return strings.TrimSpace(strings.TrimPrefix(s.out.Text(), "done"))
}

// pollUntil repeats f until success, or returns its last error at the end of ctx.
func pollUntil(ctx context.Context, f func() error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// mustSucceed and mustGet are those of test/must, which is in another module.
func mustSucceed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustGet[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		mustSucceed(t, err)
		return value
	}
}

func waitUntil(t *testing.T, f func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	mustSucceed(t, pollUntil(ctx, f))
}

// startController replaces a controller with other flags. A test destroys a DNSRecord that fails, since five times a
// second it would be tried again during the later tests.
func (s *seed) startController(t *testing.T, flags ...string) *controllerProcess {
	t.Helper()
	if p := s.controller; p != nil && !slices.Equal(p.flags, flags) {
		s.controller = nil
		if err := p.stopProcess(); err != nil {
			t.Error(err)
		}
	}
	if s.controller == nil {
		s.controller = &controllerProcess{log: &buffer{}, flags: flags, kubeconfig: s.writeKubeconfig(t)}
		s.controller.startProcess(t)
	}
	p, from := s.controller, len(s.controller.log.String())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the controller says:\n%s", p.log.String()[from:])
		}
	})
	return p
}

type controllerProcess struct {
	cmd        *exec.Cmd
	log        *buffer
	flags      []string
	kubeconfig string
}

func (p *controllerProcess) startProcess(t *testing.T) {
	t.Helper()
	from := len(p.log.String())
	p.cmd = exec.Command(os.Args[0], append([]string{
		"--kubeconfig", p.kubeconfig, "--leader-election=false", "--metrics-bind-address=0", "--health-bind-address=0",
		"--heartbeat-namespace=garden", "--heartbeat-renew-interval-seconds=1", "--retry-interval=200ms", "--log-format=text",
	}, p.flags...)...)
	p.cmd.Env = append(os.Environ(), asController+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	mustSucceed(t, p.cmd.Start())
	waitUntil(t, func() error {
		if !strings.Contains(p.log.String()[from:], "Starting workers") {
			return errors.New("the controller does not work yet")
		}
		return nil
	})
}

func (p *controllerProcess) stopProcess() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the controller: %w\n%s", err, p.log)
	}
	if !strings.Contains(p.log.String(), logs+" true") {
		return errors.New("controller-runtime has no logger: call log.SetLogger")
	}
	return nil
}

// The service account has exactly the chart's rights.
func (s *seed) writeKubeconfig(t *testing.T) string {
	t.Helper()
	s.makeNamespace(t, "garden", nil)
	text := mustGet(os.ReadFile("testdata/rbac.golden"))(t)
	for _, document := range strings.Split(string(text), "\n---\n") {
		var object unstructured.Unstructured
		mustSucceed(t, yaml.Unmarshal([]byte(document), &object.Object))
		if err := s.Create(t.Context(), &object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	path := filepath.Join(s.home, "kubeconfig")
	mustSucceed(t, os.WriteFile(path, []byte(s.makeAccount(t, "garden", name)), 0o600))
	return path
}

// grantRules binds rules in a namespace to a service account of another.
func (s *seed) grantRules(t *testing.T, namespace, of, account string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	s.makeNamespace(t, namespace, nil)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account}, Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: of, Name: account}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
	}
	if _, err := s.kube.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: rules}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if _, err := s.kube.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func (s *seed) makeNamespace(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	_, err := s.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func (s *seed) makeAccount(t *testing.T, namespace, name string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	ctx := t.Context()
	s.makeNamespace(t, namespace, nil)
	accounts := s.kube.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if len(rules) > 0 {
		s.grantRules(t, namespace, namespace, name, rules...)
	}
	hour := int64(3600)
	token, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.makeKubeconfig(t, s.config.Host, token.Status.Token)
}

func (s *seed) makeKubeconfig(t *testing.T, host, token string) string {
	t.Helper()
	ca := s.config.CAData
	if len(ca) == 0 {
		var err error
		if ca, err = os.ReadFile(s.config.CAFile); err != nil {
			t.Fatal(err)
		}
	}
	text := mustGet(json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "it",
		"contexts": []any{map[string]any{"name": "it", "context": map[string]any{"cluster": "it", "user": "it"}}},
		"clusters": []any{map[string]any{"name": "it", "cluster": map[string]any{"server": host, "certificate-authority-data": ca}}},
		"users":    []any{map[string]any{"name": "it", "user": map[string]any{"token": token}}},
	}))(t)
	return string(text)
}

var recordRules = rbacv1.PolicyRule{APIGroups: []string{"kubi.zone"}, Resources: []string{"records"}, Verbs: []string{"get", "create", "update", "delete"}}

// makeZone creates a zone in namespace platform in which another namespace may write any name.
func (s *seed) makeZone(t *testing.T, domain, for_ string, change ...func(*v1alpha1.Zone)) *v1alpha1.Zone {
	t.Helper()
	s.makeNamespace(t, "platform", nil)
	zone := &v1alpha1.Zone{
		ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: strings.ReplaceAll(domain, ".", "-")},
		Spec: v1alpha1.ZoneSpec{
			DomainName:  domain + ".",
			NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}},
			Delegations: []v1alpha1.DelegationRule{{Namespace: for_, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
		},
	}
	for _, f := range change {
		f(zone)
	}
	made := mustGet(s.kubizone.KubizoneV1alpha1().Zones(zone.Namespace).Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	return made
}

// putRecord does not wait and try again as Retry-After asks.
func (s *seed) putRecord(t *testing.T, namespace, domain, of, value string) error {
	record := &v1alpha1.Record{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(strings.TrimSuffix(domain, "."), ".", "-")},
		Spec:       v1alpha1.RecordSpec{DomainName: domain, Type: of, Values: []string{value}},
	}
	create := s.kubizone.KubizoneV1alpha1().RESTClient().Post().Namespace(namespace).Resource("records").Body(record)
	return create.MaxRetries(0).Do(t.Context()).Error()
}
