// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

// memberEnv makes this test binary one member of an etcd cluster: a process, so that it can be stopped.
const memberEnv = "KUBIZONE_TEST_MEMBER"

type memberConfig struct{ Name, Dir, Client, Peer, Initial string }

func runMember() {
	var c memberConfig
	if err := json.Unmarshal([]byte(os.Getenv(memberEnv)), &c); err != nil {
		panic(err)
	}
	at := func(address string) []url.URL { return []url.URL{{Scheme: "http", Host: address}} }
	if _, err := store.StartEtcd(c.Dir, func(e *embed.Config) {
		e.Name, e.InitialCluster = c.Name, c.Initial
		e.ListenClientUrls, e.AdvertiseClientUrls = at(c.Client), at(c.Client)
		e.ListenPeerUrls, e.AdvertisePeerUrls = at(c.Peer), at(c.Peer)
		e.TickMs, e.ElectionMs = 100, 3000 // it shares the machine
	}); err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
	os.Exit(0)
}

// cluster is three members of etcd.
type cluster struct {
	t         testing.TB
	endpoints []string
	processes []*os.Process
}

func newCluster(t testing.TB) *cluster {
	c := &cluster{t: t}
	dir := t.TempDir()
	configs := make([]memberConfig, 3)
	var initial []string
	for i := range configs {
		client, peer := store.Must(rig.FreePort()).String(), store.Must(rig.FreePort()).String()
		configs[i] = memberConfig{Name: fmt.Sprint("m", i), Dir: filepath.Join(dir, fmt.Sprint(i)), Client: client, Peer: peer}
		initial = append(initial, configs[i].Name+"=http://"+peer)
		c.endpoints = append(c.endpoints, client)
	}
	for _, one := range configs {
		one.Initial = strings.Join(initial, ",")
		cmd := exec.Command(store.Must(os.Executable()))
		cmd.Env = append(os.Environ(), memberEnv+"="+string(store.Must(json.Marshal(one))))
		cmd.Stderr = os.Stderr
		stdin := store.Must(cmd.StdinPipe())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.processes = append(c.processes, cmd.Process)
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGCONT)
			stdin.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	client := store.Must(c.connect(c.endpoints...))
	defer client.Close()
	store.Eventually(t, "three members answer", func() bool {
		for _, e := range c.endpoints {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			s, err := client.Status(ctx, e)
			cancel()
			if err != nil || s.Leader == 0 {
				return false
			}
		}
		return true
	})
	return c
}

func (c *cluster) connect(endpoints ...string) (*kubernetes.Client, error) {
	return kubernetes.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 30 * time.Second, Logger: zap.NewNop(), BackoffWaitBetween: 20 * time.Millisecond,
		DialOptions: []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}})
}

// line carries connections to an address. While it cuts, each ends after some octets that came from there, in the
// middle of whatever they are.
type line struct {
	at             string
	cuts           atomic.Bool
	carried, ended atomic.Int64 // connections
}

func newLine(t testing.TB, to string) *line {
	listener := store.Must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	l := &line{at: listener.Addr().String()}
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(out, in); out.Close() }()
				left := 100_000 + rand.IntN(100_000)
				if l.carried.Add(1) > 3 {
					left <<= rand.IntN(7) // what a watch has missed comes in one response, so some carry much
				}
				for {
					n, err := io.CopyN(in, out, int64(1+rand.IntN(20_000)))
					if left -= int(n); err != nil {
						return
					}
					if left < 0 && l.cuts.Load() {
						_ = in.(*net.TCPConn).SetLinger(0)
						l.ended.Add(1)
						return
					}
				}
			}()
		}
	}()
	return l
}

// commitOnce is commit where an answer may be lost with its member: what became of it is read.
func (w *world) commitOnce(ctx context.Context, writes ...write) {
	var ops []clientv3.Op
	last := writes[len(writes)-1]
	for _, one := range writes {
		ops = append(ops, clientv3.OpPut(w.key(one.resource, one.name), one.value))
	}
	for {
		limit, cancel := context.WithTimeout(ctx, 20*time.Second)
		_, err := w.client.Txn(limit).If(clientv3.Compare(clientv3.Value(w.root+"/last"), "!=", last.value)).Then(append(ops, clientv3.OpPut(w.root+"/last", last.value))...).Commit()
		var r *clientv3.GetResponse
		if err == nil {
			r, err = w.client.KV.Get(limit, w.key(last.resource, last.name))
		}
		cancel()
		if err == nil && len(r.Kvs) == 1 && string(r.Kvs[0].Value) == last.value {
			for i := range writes {
				writes[i].version = r.Kvs[0].ModRevision - int64(len(writes)-1-i)
			}
			w.history = append(w.history, writes...)
			return
		}
		if ctx.Err() != nil {
			w.t.Fatal("commit: ", err)
		}
	}
}

// Three members, of which one is stopped again and again and lags when it goes on, and lines that end in the middle of
// responses: watches of etcd (with fragments and without), of a watch cache, and of the member that lags see each
// event once, in order; lists at the version of an answer see all of it.
func TestMembers_watchesMissNothing(t *testing.T) {
	c := newCluster(t)
	w := worldOn(t, func() (*kubernetes.Client, error) { return c.connect(c.endpoints[0], c.endpoints[1]) })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	lines, through := []*line{}, []string{}
	for _, e := range c.endpoints {
		lines = append(lines, newLine(t, e))
		through = append(through, lines[len(lines)-1].at)
	}
	transactions, n := 30, 40
	if rig.Long() {
		transactions = 400
	}
	direct := w.connect
	serve := func(connect func() (*kubernetes.Client, error)) *server {
		w.connect = connect
		defer func() { w.connect = direct }()
		return w.server(true)
	}
	overLines := serve(func() (*kubernetes.Client, error) { return c.connect(through...) })
	behind := serve(func() (*kubernetes.Client, error) { return c.connect(c.endpoints[2]) })
	wrapped := func(endpoints ...string) *kubernetes.Client {
		client := store.Must(c.connect(endpoints...))
		t.Cleanup(func() { client.Close() })
		w.mapping().Wrap(client.Client)
		return client
	}
	start := store.Must(w.client.KV.Put(ctx, w.root+"/last", "none")).Header.Revision
	for _, l := range lines {
		l.cuts.Store(true)
	}
	seen := map[string]*[]string{}
	var watchers sync.WaitGroup
	total := transactions * n
	of := func(what string, next func(from int64, see func(version int64, name string) bool) error) {
		out := &[]string{}
		seen[what] = out
		watchers.Go(func() {
			for from := start; ctx.Err() == nil && len(*out) < total; {
				if err := next(from, func(version int64, name string) bool {
					from, *out = version, append(*out, fmt.Sprint(version, " ", name))
					return len(*out) < total
				}); err != nil && ctx.Err() == nil {
					t.Errorf("%s after %d: %v", what, from, err)
					return
				}
			}
		})
	}
	raw := func(client *kubernetes.Client, opts ...clientv3.OpOption) func(int64, func(int64, string) bool) error {
		return func(from int64, see func(int64, string) bool) error {
			limit, cancel := context.WithCancel(ctx)
			defer cancel()
			for r := range client.Watch(limit, w.prefix("pods"), append(opts, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(from+1))...) {
				if r.Err() != nil {
					return r.Err()
				}
				for _, e := range r.Events {
					if !see(e.Kv.ModRevision, strings.TrimPrefix(string(e.Kv.Key), w.prefix("pods"))) {
						return nil
					}
				}
			}
			return nil
		}
	}
	of("etcd over lines", raw(wrapped(through...)))
	of("etcd over lines, with fragments", raw(wrapped(through...), clientv3.WithFragment()))
	of("the member that lags", raw(wrapped(c.endpoints[2])))
	for what, s := range map[string]*server{"a cache over lines": overLines, "a cache over the member that lags": behind} {
		of(what, func(from int64, see func(int64, string) bool) error {
			in, err := s.cached.Watch(ctx, "/pods/", options(from))
			if err != nil {
				return nil // its cache begins anew
			}
			defer in.Stop()
			for e := range in.ResultChan() {
				pod, ok := bare(e.Object).(*example.Pod)
				if !ok {
					return fmt.Errorf("%v", e.Object)
				}
				if !see(versionOf(pod), pod.Namespace+"/"+pod.Name) {
					return nil
				}
			}
			return nil
		})
	}
	stopped := make(chan struct{})
	var stopper sync.WaitGroup
	stopper.Go(func() {
		for {
			select {
			case <-stopped:
				return
			case <-time.After(300 * time.Millisecond):
			}
			_ = c.processes[2].Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(100+rand.IntN(400)) * time.Millisecond) // which member leads is not asked: where it was this one, another is elected
			_ = c.processes[2].Signal(syscall.SIGCONT)
		}
	})
	for i := range transactions {
		var writes []write
		for j := range n {
			name := fmt.Sprintf("ns%d/%02d", j%3, (i*7+j)%50)
			writes = append(writes, write{resource: "pods", name: name, value: w.encoded(name, fmt.Sprint(i, strings.Repeat("x", 2_000)))})
		}
		w.commitOnce(ctx, writes...)
		have := map[string]string{}
		for _, one := range writes {
			have[one.name] = fmt.Sprint(one.version)
		}
		for what, s := range map[string]*server{"over lines": overLines, "of the member that lags": behind} {
			got, _, err := listed(s.cached, "/pods/", storage.ListOptions{ResourceVersion: fmt.Sprint(writes[n-1].version)})
			if err != nil && !apierrors.IsTimeout(err) {
				t.Errorf("list %s: %v", what, err)
			}
			for name, version := range have {
				if err == nil && !strings.HasSuffix(got[name], "@"+version) {
					t.Errorf("the list %s at the version of the answer has not %s at %s", what, name, version)
				}
			}
		}
	}
	for _, l := range lines {
		l.cuts.Store(false)
	}
	close(stopped)
	stopper.Wait()
	watchers.Wait()
	var ended int64
	for _, l := range lines {
		ended += l.ended.Load()
	}
	for what, got := range seen {
		for i, one := range w.history {
			if want := fmt.Sprint(one.version, " ", one.name); i >= len(*got) || (*got)[i] != want {
				t.Errorf("%s: event %d of %d is not %s: %q", what, i, len(*got), want, (*got)[max(0, min(len(*got), i)-2):min(len(*got), i+2)])
				break
			}
		}
	}
	t.Logf("%d events in %d transactions, %d connections ended", total, transactions, ended)
	if ended == 0 {
		t.Error("no line was cut")
	}
}
