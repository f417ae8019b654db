// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func clients(t *testing.T, kubeconfig string) *kubernetes.Clientset {
	t.Helper()
	config, err := ClientConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A control plane knows its tenants by certificate and by token, gives them what they were granted and no more, does
// not answer while it is paused, deletes a namespace, and is gone after Close.
func TestKube_tenantsHaveWhatTheyAreGranted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "kube")
	k, err := StartKube(ctx, dir, KubeConfig{ControllerManager: true})
	SkipMissing(t, err)
	defer k.Close()

	alice, err := k.Tenant("alice", "tenants")
	if err != nil {
		t.Fatal(err)
	}
	robot, err := k.ServiceAccount(ctx, "team-a", "robot")
	if err != nil {
		t.Fatal(err)
	}
	for who, kubeconfig := range map[string]string{"alice": alice, "system:serviceaccount:team-a:robot": robot} {
		c := clients(t, kubeconfig)
		if _, err := c.CoreV1().ConfigMaps("team-a").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s lists without a right: %v", who, err)
		}
		if err := k.Grant(ctx, "team-a", who, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}); err != nil {
			t.Fatal(err)
		}
		// The authorizer follows its informer.
		for err = errors.New("not asked"); err != nil && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			_, err = c.CoreV1().ConfigMaps("team-a").List(ctx, metav1.ListOptions{})
		}
		if err != nil {
			t.Errorf("%s does not list: %v", who, err)
		}
		if _, err := c.CoreV1().Secrets("team-a").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s lists secrets: %v", who, err)
		}
	}

	admin := clients(t, k.AdminKubeconfig())
	if err := k.Pause(); err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	if _, err := admin.CoreV1().Namespaces().Get(short, "team-a", metav1.GetOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it answers while it is paused: %v", err)
	}
	stop()
	if err := k.Resume(); err != nil {
		t.Fatal(err)
	}

	if err := admin.CoreV1().Namespaces().Delete(ctx, "team-a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for err = nil; !apierrors.IsNotFound(err) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		var namespace *corev1.Namespace
		if namespace, err = admin.CoreV1().Namespaces().Get(ctx, "team-a", metav1.GetOptions{}); err == nil && namespace.Status.Phase != corev1.NamespaceTerminating {
			t.Fatalf("phase %s after delete", namespace.Status.Phase)
		}
	}
	if !apierrors.IsNotFound(err) {
		t.Errorf("kube-controller-manager leaves the namespace: %v\n%s", err, k.ControllerManagerLog())
	}

	pids := []int{k.apiserver.cmd.Process.Pid, k.manager.cmd.Process.Pid}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

// What an authority signs is good for what it says and for nothing else.
func TestAuthority_signsServersAndClients(t *testing.T) {
	ours, err := NewAuthority("ours")
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewAuthority("other")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := ours.Serving("a.example", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := serving.TLS()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		by   *Authority
		host string
		use  x509.ExtKeyUsage
		good bool
	}{
		{ours, "a.example", x509.ExtKeyUsageServerAuth, true},
		{ours, "127.0.0.1", x509.ExtKeyUsageServerAuth, true},
		{ours, "b.example", x509.ExtKeyUsageServerAuth, false},
		{ours, "a.example", x509.ExtKeyUsageClientAuth, false},
		{other, "a.example", x509.ExtKeyUsageServerAuth, false},
	} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(c.by.PEM)
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: c.host, KeyUsages: []x509.ExtKeyUsage{c.use}})
		if (err == nil) != c.good {
			t.Errorf("%s for %v: %v", c.host, c.use, err)
		}
	}
}

// Connections go round the backends whose probe passes; who fails it gets no new one and keeps those it has; without
// any, a client is refused.
func TestBalancer_followsTheProbes(t *testing.T) {
	balancer, err := StartBalancer()
	if err != nil {
		t.Fatal(err)
	}
	defer balancer.Close()
	type backend struct {
		*httptest.Server
		ready chan bool // holds one value: whether the probe passes
	}
	start := func(name string) backend {
		b := backend{ready: make(chan bool, 1)}
		b.ready <- true
		b.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ready := <-b.ready
			b.ready <- ready
			if r.URL.Path == "/readyz" && !ready {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			io.WriteString(w, name)
		}))
		t.Cleanup(b.Close)
		return b
	}
	one, two := start("one"), start("two")
	address := func(b backend) netip.AddrPort { return b.Listener.Addr().(*net.TCPAddr).AddrPort() }
	fresh := func() *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	}
	ask := func(c *http.Client) string {
		answer, err := c.Get("https://" + balancer.Addr.String() + "/")
		if err != nil {
			return "refused"
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return string(body)
	}
	settle := func(ready int) {
		t.Helper()
		for begin := time.Now(); balancer.Ready() != ready; time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > 20*time.Second {
				t.Fatalf("%d backends are ready, want %d", balancer.Ready(), ready)
			}
		}
	}
	if got := ask(fresh()); got != "refused" {
		t.Errorf("without backends: %s", got)
	}
	balancer.Set(address(one), address(two))
	settle(2)
	held := fresh()
	first := ask(held)
	if second := ask(fresh()); second == first || second == "refused" {
		t.Errorf("two connections went to %s and %s", first, second)
	}
	leaving := map[string]backend{"one": one, "two": two}[first]
	<-leaving.ready
	leaving.ready <- false
	settle(1)
	for range 3 {
		if got := ask(fresh()); got == first || got == "refused" {
			t.Errorf("a new connection went to %s, whose probe fails", got)
		}
	}
	if got := ask(held); got != first {
		t.Errorf("the connection that was there: %s, want %s", got, first)
	}
	balancer.Set()
	settle(0)
	if got := ask(fresh()); got != "refused" {
		t.Errorf("without backends again: %s", got)
	}
}
