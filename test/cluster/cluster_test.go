// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const waitTimeout = 4 * time.Minute

// namespaceTimeout exceeds the minute before the namespace controller retries a deletion.
const namespaceTimeout = "--timeout=3m"

var home string

var started atomic.Bool

func TestMain(m *testing.M) {
	rig.RetrySoon()
	rig.SpareGarbage()
	rig.Main("cluster", func(dir string) (int, error) {
		home = dir
		// Ports are reused by other control planes, so kubectl's discovery cache must be private.
		os.Setenv("KUBECACHEDIR", filepath.Join(home, "kubectl"))
		code := m.Run()
		if started.Load() {
			if c, _ := shared(); c != nil {
				c.closeCluster()
			}
		}
		return code, nil
	})
}

// cluster is a control plane with the server under test, shared by tests: a start takes ten seconds.
type cluster struct {
	kube       *kuberig.Kube
	etcd       *kuberig.Etcd // of the server
	service    *rig.Balancer // the Service of the APIService
	kubizone   string        // path of the binary
	client     string        // path of kubectl-kubizone
	kubectl    string
	kubeconfig string // of the server, for kube-apiserver
	serving    rig.Pair

	server *kuberig.Server // always running
}

var shared = sync.OnceValues(func() (*cluster, error) {
	started.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := &cluster{}
	if err := c.startCluster(ctx); err != nil {
		c.closeCluster()
		return nil, err
	}
	return c, nil
})

func (c *cluster) startCluster(ctx context.Context) (err error) {
	for program, path := range map[string]*string{"kubectl": &c.kubectl, "kube-apiserver": new(string), "kube-controller-manager": new(string)} {
		if *path, err = rig.KubeProgram(program); err != nil {
			return err
		}
	}
	built := make(chan error, 1)
	go func() {
		var err error
		if c.kubizone, err = rig.Kubizone(ctx, home, ""); err == nil {
			c.client, err = rig.Client(ctx, home)
		}
		built <- err
	}()
	if err := writeAuditPolicy(); err != nil {
		return err
	}
	c.kube, err = kuberig.StartKube(ctx, filepath.Join(home, "kube"), kuberig.KubeConfig{Args: auditFlags("kube-apiserver")})
	if err := errors.Join(err, <-built); err != nil {
		return err
	}
	if c.kubeconfig, err = c.kube.ServiceAccount(ctx, kuberig.InstallNamespace, kuberig.ServerName); err != nil {
		return err
	}
	// Server and tenants have only the rights of the installation.
	const deploy = "../../artifacts/deploy/base/"
	if out, err := exec.CommandContext(ctx, c.kubectl, "--kubeconfig", c.kube.AdminKubeconfig(), "apply", "-f", deploy+"rbac.yaml", "-f", deploy+"roles.yaml").CombinedOutput(); err != nil {
		return fmt.Errorf("rights: %w\n%s", err, out)
	}
	if c.etcd, err = kuberig.StartEtcd(ctx, filepath.Join(home, "etcd")); err != nil {
		return err
	}
	if c.serving, err = c.kube.ClusterCA.Serving(kuberig.ServingHosts()...); err != nil {
		return err
	}
	if c.service, err = rig.StartBalancer(); err != nil {
		return err
	}
	if err := c.startServer(ctx); err != nil {
		return err
	}
	if err := c.kube.Aggregate(ctx, c.service.Addr, c.kube.ClusterCA.PEM); err != nil {
		return err
	}
	if _, _, err := c.kube.WaitAvailable(ctx, true); err != nil {
		return fmt.Errorf("%w\nthe server says:\n%s", err, c.server.Log())
	}
	// The garbage collector and quota discover kinds at their start and every half minute.
	return c.kube.StartControllerManager(ctx)
}

// startServer starts the server again at its address, and returns when it is ready.
func (c *cluster) startServer(ctx context.Context) error {
	config := kuberig.ServerConfig{
		Program: c.kubizone, Kube: c.kube, Kubeconfig: c.kubeconfig, Etcd: c.etcd.Endpoint, Serving: c.serving,
		// The balancer notices the shutdown after one probe, a tenth of a second.
		Args: append([]string{"--shutdown-delay-duration", "1s", "--acme"}, auditFlags("server")...),
	}
	if c.server != nil {
		config.Addr = c.server.Addr
	}
	server, err := kuberig.StartServer(ctx, filepath.Join(home, "server"), config)
	if err != nil {
		return err
	}
	c.server = server
	c.service.Set(c.server.Addr)
	return c.waitReady(ctx)
}

func (c *cluster) waitReady(ctx context.Context) error {
	for c.service.Ready() == 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func (c *cluster) closeCluster() {
	if c.server != nil {
		c.server.Close()
	}
	if c.service != nil {
		c.service.Close()
	}
	if c.etcd != nil {
		c.etcd.Close()
	}
	if c.kube != nil {
		c.kube.Close()
	}
}

func (c *cluster) readMetrics(t *testing.T) string {
	t.Helper()
	config := c.kube.Admin()
	config.Host = c.server.URL()
	answer := must.Get(httpClient(t, config).Get(c.server.URL() + "/metrics"))(t)
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))(t)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %s", answer.Status)
	}
	return string(text)
}

func requireCluster(t *testing.T) *cluster {
	t.Helper()
	return rig.Need(shared())(t)
}

var within = rig.Within

func makeClients(t *testing.T, config *rest.Config) (*kubernetes.Clientset, *dynamic.DynamicClient) {
	t.Helper()
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{}
	return must.Get(kubernetes.NewForConfig(config))(t), must.Get(dynamic.NewForConfig(config))(t)
}

// httpClient returns a client of the configuration that follows no redirect: an API server has no reason to redirect.
func httpClient(t testing.TB, config *rest.Config) *http.Client {
	t.Helper()
	client := &http.Client{
		Transport: must.Get(rest.TransportFor(config))(t), Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}
