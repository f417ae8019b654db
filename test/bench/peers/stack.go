// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const (
	namespace   = "default"
	domain      = "bench.example."
	readyLine   = "ready: "
	waitTimeout = 5 * time.Minute
)

var updateKey = rig.TSIGKey{Name: "bench.key", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}

type stack struct {
	*system
	programs programs
	dir      string
	etcd     *rig.Process // kube-apiserver's
	kube     *kuberig.Kube
	server   *kuberig.Server // nil without an aggregated API server
	bind     *rig.BIND
	added    []*rig.Process
	members  []string // of every etcd
	objects  dynamic.ResourceInterface
	made     int
	// idle and addedIdle are the processors used at rest, by all and by the added processes.
	idle, addedIdle float64
}

// The caller calls closeStack.
func startStack(ctx context.Context, dir string, system *system, programs programs) (_ *stack, err error) {
	s := &stack{system: system, programs: programs, dir: dir}
	defer func() {
		if err != nil {
			s.closeStack()
		}
	}()
	member := filepath.Join(dir, "member")
	if err := os.MkdirAll(member, 0o700); err != nil {
		return nil, err
	}
	if s.etcd, err = rig.StartProcess([]string{memberVariable + "=" + member}, dir, programs.self); err != nil {
		return nil, err
	}
	endpoint, err := waitForLine(ctx, s.etcd, regexp.MustCompile(`(?m)^`+readyLine+`(\S+)$`))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	s.members = []string{endpoint}
	if s.kube, err = kuberig.StartKube(ctx, filepath.Join(dir, "kube"), kuberig.KubeConfig{Etcd: endpoint}); err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(s.clientConfig())
	if err != nil {
		return nil, err
	}
	s.objects = client.Resource(system.resource).Namespace(namespace)
	return s, system.start(ctx, s)
}

func (s *stack) clientConfig() *rest.Config {
	config := s.kube.Admin()
	config.WarningHandler = rest.NoWarnings{}
	return config
}

func (s *stack) launchProgram(ctx context.Context, line, program string, args ...string) error {
	p, err := rig.StartProcess(nil, s.dir, program, args...)
	if err != nil {
		return err
	}
	s.added = append(s.added, p)
	_, err = waitForLine(ctx, p, regexp.MustCompile(`(?m)(`+line+`)`))
	return err
}

func waitForLine(ctx context.Context, p *rig.Process, line *regexp.Regexp) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	for {
		if found := line.FindStringSubmatch(p.Log()); found != nil {
			return found[1], nil
		}
		select {
		case <-p.Ended():
			return "", fmt.Errorf("it ended: %v\n%.3000s", p.Err(), p.Log())
		case <-ctx.Done():
			return "", fmt.Errorf("its log has no %s: %w\n%.3000s", line, ctx.Err(), p.Log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *stack) startPrimary(ctx context.Context) (err error) {
	s.bind, err = rig.StartBIND(ctx, rig.BINDConfig{Keys: []rig.TSIGKey{updateKey}, Primaries: []rig.PrimaryZone{{
		Zone: domain, UpdateKey: updateKey.Name,
		Text: domain + " 3600 IN SOA ns.example.net. hostmaster.example.net. 1 86400 7200 3600000 360\n" +
			domain + " 3600 IN NS ns.example.net.\n",
	}}})
	return err
}

func (s *stack) startSecondary(ctx context.Context, at, primary netip.AddrPort) (err error) {
	s.bind, err = rig.StartBIND(ctx, rig.BINDConfig{Addr: at, Keys: []rig.TSIGKey{updateKey}, Options: "serial-query-rate 1000;",
		Secondaries: []rig.SecondaryZone{{Zone: domain, Primary: primary, Key: updateKey.Name}}})
	return err
}

func (s *stack) closeStack() {
	for i := len(s.added) - 1; i >= 0; i-- {
		s.added[i].End()
	}
	if s.bind != nil {
		_ = s.bind.Close()
	}
	if s.server != nil {
		_ = s.server.Close()
	}
	if s.kube != nil {
		_ = s.kube.Close()
	}
	if s.etcd != nil {
		s.etcd.Kill()
	}
	_ = os.RemoveAll(s.dir)
}

func (s *stack) readLogs() string {
	var out strings.Builder
	add := func(name, log string) { fmt.Fprintf(&out, "%s says:\n%s\n", name, log[max(0, len(log)-2000):]) }
	for i, p := range s.added {
		add(fmt.Sprintf("program %d", i+1), p.Log())
	}
	if s.server != nil {
		add("server", s.server.Log())
	}
	add("BIND", s.bind.Log())
	return out.String()
}

type usage struct {
	requests          float64 // at API servers
	wal, live         float64 // octets of every etcd
	all, added        time.Duration
	resident, highest uint64 // of the added processes
}

func (s *stack) readUsage(ctx context.Context) (u usage, err error) {
	pids := []int{}
	for _, p := range s.added {
		pids = append(pids, p.Pid())
	}
	servers := []*rest.Config{s.kube.Admin()}
	if s.server != nil {
		pids = append(pids, s.server.Pid())
		direct, err := s.server.Direct(s.kube.AdminKubeconfig())
		if err != nil {
			return u, err
		}
		servers = append(servers, direct)
	}
	for _, pid := range pids {
		spent, err := figures.CPU(pid)
		if err != nil {
			return u, err
		}
		resident, err := figures.Resident(pid, "VmRSS")
		if err != nil {
			return u, err
		}
		highest, err := figures.Resident(pid, "VmHWM")
		if err != nil {
			return u, err
		}
		u.added, u.resident, u.highest = u.added+spent, u.resident+resident, u.highest+highest
	}
	u.all = u.added
	for _, pid := range []int{s.kube.Pid(), s.etcd.Pid()} {
		spent, err := figures.CPU(pid)
		if err != nil {
			return u, err
		}
		u.all += spent
	}
	for _, config := range servers {
		n, err := countRequests(ctx, config)
		if err != nil {
			return u, err
		}
		u.requests += n
	}
	for _, endpoint := range s.members {
		wal, live, err := readMember(ctx, endpoint)
		if err != nil {
			return u, err
		}
		u.wal, u.live = u.wal+wal, u.live+live
	}
	return u, nil
}

// ofSystems matches requests for the systems' kinds and Events, and reviews by an aggregated server.
var ofSystems = regexp.MustCompile(`group="([a-z0-9.]*kubi\.zone|minimal\.example|externaldns\.k8s\.io)"|` +
	`group="(events|authentication|authorization)\.k8s\.io"|resource="(events|secrets)"`)

func countRequests(ctx context.Context, config *rest.Config) (float64, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	text, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	return figures.SumCounters(text, "apiserver_request_total", ofSystems.MatchString)
}

// readMember returns the octets logged since the start, and those of all present data.
func readMember(ctx context.Context, endpoint string) (wal, live float64, err error) {
	text, err := figures.FetchOverSocket(ctx, strings.TrimPrefix(endpoint, "unix://"), "/metrics")
	if err != nil {
		return 0, 0, err
	}
	if wal, err = figures.SumCounters(text, "etcd_disk_wal_write_bytes_total", func(string) bool { return true }); err != nil {
		return 0, 0, err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: waitTimeout, Logger: zap.NewNop()})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	all, err := client.Get(ctx, "\x00", clientv3.WithFromKey())
	if err != nil {
		return 0, 0, err
	}
	for _, kv := range all.Kvs {
		live += float64(len(kv.Key) + len(kv.Value))
	}
	return wal, live, nil
}
