// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const waitTimeout = 2 * time.Minute

var (
	soak = flag.Duration("soak", 0, "how long TestSoak goes on with faults chosen at random; "+
		"0: one round, or three minutes in its long form")
	seed = flag.Uint64("seed", 0, "of the random choices; 0: one of its own, which is printed")
	keep = flag.String("keep", "", "a directory for the etcd members and the clients' writes of a failed test; without, they are deleted")
)

var home string

var started atomic.Bool

func TestMain(m *testing.M) {
	if text := os.Getenv(memberEnv); text != "" {
		os.Exit(runMember(text))
	}
	klog.SetLogger(logr.Discard()) // clients log errors of killed servers
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	rig.Main("crash", func(dir string) (int, error) {
		home = dir
		code := m.Run()
		if started.Load() {
			if w, _ := shared(); w != nil {
				w.kube.Close()
			}
		}
		if code != 0 {
			fmt.Printf("seed %d\n", *seed)
		}
		return code, nil
	})
}

// world is shared by all tests: a control plane without controllers, and the program under test.
type world struct {
	kube       *kuberig.Kube
	program    string // built with fault points
	kubeconfig string // of servers, for kube-apiserver
	serving    rig.Pair
}

var shared = sync.OnceValues(func() (_ *world, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	w := &world{}
	built := make(chan error, 1)
	go func() {
		var err error
		w.program, err = rig.Kubizone(ctx, home, "faultpoints")
		built <- err
	}()
	w.kube, err = kuberig.StartKube(ctx, filepath.Join(home, "kube"), kuberig.KubeConfig{})
	if wrong := <-built; err == nil {
		err = wrong
	}
	if w.kube == nil {
		return nil, err
	}
	started.Store(true)
	if err == nil {
		w.kubeconfig, err = w.kube.Delegate(ctx)
	}
	if err == nil {
		w.serving, err = w.kube.ClusterCA.Serving(kuberig.ServingHosts()...)
	}
	for _, namespace := range append([]string{owner}, listTeams()...) {
		if err == nil {
			err = w.kube.Namespace(ctx, namespace)
		}
	}
	return w, err
})

func requireWorld(t *testing.T) *world {
	t.Helper()
	return rig.Need(shared())(t)
}

var within, until = rig.Within, rig.Until

// replica keeps directory and address through restarts.
type replica struct {
	*kuberig.Server

	config kuberig.ServerConfig
	dir    string
}

func (w *world) startServer(ctx context.Context, t *testing.T, etcd string, env ...string) *replica {
	t.Helper()
	return w.serverWith(ctx, t, etcd, nil, env...)
}

func (w *world) serverWith(ctx context.Context, t *testing.T, etcd string, flags []string, env ...string) *replica {
	t.Helper()
	r := &replica{dir: filepath.Join(t.TempDir(), "server"), config: kuberig.ServerConfig{
		Program: w.program, Kube: w.kube, Kubeconfig: w.kubeconfig, Etcd: etcd, Serving: w.serving,
		// No load balancer has to notice the shutdown.
		Args: append([]string{"--shutdown-delay-duration", "0s"}, flags...),
	}}
	r.startReplica(ctx, t, env...)
	r.config.Addr = r.Addr
	t.Cleanup(func() {
		r.Kill()
		if t.Failed() {
			t.Logf("server %s says:\n%s", r.Addr, keepLastLines(dropUsualLines(r.Log()), 20))
		}
	})
	return r
}

func (r *replica) startReplica(ctx context.Context, t *testing.T, env ...string) {
	t.Helper()
	if r.Server != nil {
		r.Kill()
	}
	r.config.Env = env
	r.Server = must.Get(kuberig.StartServer(ctx, r.dir, r.config))(t)
}

func (r *replica) waitReady(ctx context.Context, t *testing.T, w *world, want bool) {
	t.Helper()
	client := must.Get(rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: w.kube.ClusterCA.PEM},
		Timeout: 5 * time.Second}))(t)
	until(ctx, t, fmt.Sprintf("ready: %t", want), func() error {
		answer, err := client.Get(r.URL() + "/readyz")
		if err == nil {
			answer.Body.Close()
			if (answer.StatusCode == http.StatusOK) == want {
				return nil
			}
			err = errors.New(answer.Status)
		} else if !want {
			return nil
		}
		return err
	})
}

func dropUsualLines(log string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(log, "\n"), func(line string) bool { return strings.HasPrefix(line, "I") }), "\n")
}

// keptFile returns the path of a file of the test under -keep, or "" without.
func keptFile(t *testing.T, name string) string {
	t.Helper()
	if *keep == "" {
		return ""
	}
	dir := filepath.Join(*keep, filepath.FromSlash(t.Name()))
	must.Succeed(t, os.MkdirAll(dir, 0o700))
	return filepath.Join(dir, name)
}
