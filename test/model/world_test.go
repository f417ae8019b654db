// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/client/v3/kubernetes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/zone/ledger/fsck"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
	"kubi.zone/kubizone/test/store"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const waitTimeout = 3 * time.Minute

var (
	seed       = flag.Uint64("seed", 0, "of what clients do; 0: one of its own, which is printed")
	operations = flag.Int("operations", 25, "operations of each client")
	clients    = flag.Int("clients", 4, "clients of the forest, each of which does so many")
)

var home string

// world is a control plane with the users, an etcd, and two servers on that etcd.
type world struct {
	kube    *kuberig.Kube
	dir     string
	etcd    *kuberig.Etcd
	config  [2]kuberig.ServerConfig
	servers [2]*kuberig.Server
	client  *kubernetes.Client
}

var shared *world

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // clients log ended watches
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	rig.Main("model", func(dir string) (int, error) {
		home = dir
		code := m.Run()
		if shared != nil {
			shared.closeWorld()
		}
		if code != 0 {
			fmt.Printf("seed %d\n", *seed)
		}
		return code, nil
	})
}

func requireWorld(t *testing.T) *world {
	t.Helper()
	if shared != nil {
		return shared
	}
	w := &world{}
	err := w.startWorld(t.Context())
	if err != nil {
		w.closeWorld()
	}
	rig.SkipMissing(t, err)
	shared = w
	return w
}

func (w *world) startWorld(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	var program string
	built := make(chan error, 1)
	go func() {
		var err error
		program, err = rig.Kubizone(ctx, home, "")
		built <- err
	}()
	w.dir = home
	w.kube, err = kuberig.StartKube(ctx, filepath.Join(home, "kube"), kuberig.KubeConfig{})
	if err := errors.Join(err, <-built); err != nil {
		return err
	}
	kubeconfig, err := w.kube.Delegate(ctx)
	if err != nil {
		return err
	}
	for _, namespace := range append(namespaces, linearOwner, linearTenant) {
		if err := w.kube.Namespace(ctx, namespace); err != nil {
			return err
		}
	}
	for i := range w.config {
		w.config[i] = kuberig.ServerConfig{Program: program, Kube: w.kube, Kubeconfig: kubeconfig, Args: []string{"--shutdown-delay-duration", "0s"}}
	}
	return w.startServers(ctx)
}

func (w *world) startServers(ctx context.Context) (err error) {
	if w.etcd, err = kuberig.StartEtcd(ctx, filepath.Join(w.dir, "etcd")); err != nil {
		return err
	}
	var wait sync.WaitGroup
	errs := make([]error, len(w.servers))
	for i := range w.servers {
		w.config[i].Etcd = w.etcd.Endpoint
		wait.Go(func() { errs[i] = w.restartServer(ctx, i) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	w.client, err = kubernetes.New(clientv3.Config{Endpoints: []string{w.etcd.Endpoint}, DialTimeout: 10 * time.Second})
	return err
}

// restartServer is like a power failure: the address stays.
func (w *world) restartServer(ctx context.Context, i int) (err error) {
	if w.servers[i] != nil {
		w.servers[i].Kill()
		w.config[i].Addr = w.servers[i].Addr
	}
	w.servers[i], err = kuberig.StartServer(ctx, filepath.Join(w.dir, fmt.Sprintf("server-%d", i)), w.config[i])
	return err
}

func (w *world) closeWorld() {
	if w.client != nil {
		w.client.Close()
	}
	for _, s := range w.servers {
		if s != nil {
			s.Close()
		}
	}
	if w.etcd != nil {
		w.etcd.Close()
	}
	if w.kube != nil {
		w.kube.Close()
	}
}

func (w *world) connectServer(t testing.TB, server int) typed.KubizoneV1alpha1Interface {
	t.Helper()
	config := must.Get(w.servers[server].Direct(w.kube.AdminKubeconfig()))(t)
	config.QPS, config.Timeout, config.WarningHandler = -1, 0, rest.NoWarnings{}
	return versioned.NewForConfigOrDie(config).KubizoneV1alpha1()
}

func (w *world) readRevision(t testing.TB) int64 {
	t.Helper()
	r := must.Get(w.client.Client.Get(t.Context(), "/"))(t)
	return subrev.Version(r.Header.Revision, subrev.Last)
}

// version 0 is the current revision.
func (w *world) runFsck(t testing.TB, version int64) fsck.Report {
	t.Helper()
	revision, _ := subrev.Split(version)
	r, err := fsck.Run(t.Context(), fsck.Config{Client: w.client.Client, Prefix: apiserver.Prefix, Zones: store.Codec(), Records: store.Codec(), Revision: revision})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// waitForCascades waits until no cascade is pending. The error is damage, or a cascade without an end.
func (w *world) waitForCascades(t testing.TB) error {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(50 * time.Millisecond) {
		r := w.runFsck(t, 0)
		switch {
		case !r.Clean():
			return fmt.Errorf("damage: %v", r.Damage.List)
		case r.Pending.Total == 0 && !w.awaitsEnd(t):
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("cascades do not end: owed %v", r.Pending.List)
		}
	}
}

// awaitsEnd reports whether a server still has to end a zone whose grace period is over (S3.5).
func (w *world) awaitsEnd(t testing.TB) bool {
	t.Helper()
	zones := must.Get(w.connectServer(t, 0).Zones("").List(t.Context(), metav1.ListOptions{}))(t)
	return slices.ContainsFunc(zones.Items, func(z v1alpha1.Zone) bool {
		return z.Status.FQDN != "" && z.Status.EndsAt != nil && time.Until(z.Status.EndsAt.Time) < time.Minute
	})
}
