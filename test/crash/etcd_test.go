// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// memberEnv turns this test binary into an etcd member, which a test can kill, stop and starve.
const memberEnv = "KUBIZONE_CRASH_MEMBER"

const (
	election  = 500 * time.Millisecond
	heartbeat = 50 * time.Millisecond
)

type memberConfig struct {
	Name, Dir, Client, Peer, Advertise, Cluster string
	// Sync turns on fsync, for faults of the disk.
	Sync bool
	// TLS is the directory of the member's certificate and key (serving.crt, serving.key) and of the client CA
	// (ca.crt); "": no TLS.
	TLS string
}

func runMember(text string) int {
	rig.SpareGarbage()
	// SIGUSR1 breaks the disk (F11).
	signal.Ignore(syscall.SIGXFSZ)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGUSR1)
	go func() {
		<-broken
		_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1, Max: 1})
	}()
	var m memberConfig
	err := json.Unmarshal([]byte(text), &m)
	c := embed.NewConfig()
	urls := func(text string) []url.URL {
		u, parsed := url.Parse(text)
		err = errors.Join(err, parsed)
		return []url.URL{*u}
	}
	c.Name, c.Dir, c.UnsafeNoFsync = m.Name, m.Dir, !m.Sync
	c.ListenClientUrls, c.AdvertiseClientUrls = urls(m.Client), urls(m.Client)
	c.ListenPeerUrls, c.AdvertisePeerUrls = urls(m.Peer), urls(m.Advertise)
	c.InitialCluster = m.Cluster
	if m.TLS != "" {
		c.ClientTLSInfo = transport.TLSInfo{
			CertFile: filepath.Join(m.TLS, "serving.crt"), KeyFile: filepath.Join(m.TLS, "serving.key"),
			TrustedCAFile: filepath.Join(m.TLS, "ca.crt"), ClientCertAuth: true,
		}
	}
	c.TickMs, c.ElectionMs = uint(heartbeat.Milliseconds()), uint(election.Milliseconds())
	c.WatchProgressNotifyInterval = 5 * time.Second
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.Must(zap.NewProductionConfig().Build(zap.IncreaseLevel(zap.ErrorLevel))))
	if err == nil {
		var e *embed.Etcd
		if e, err = embed.StartEtcd(c); err == nil {
			select {
			case <-e.Server.ReadyNotify():
				fmt.Println("ready")
				select {
				case err = <-e.Err():
				case <-e.Server.StopNotify():
					err = errors.New("it stopped")
				}
			case err = <-e.Err():
			case <-e.Server.StopNotify():
				err = errors.New("it stopped before it was ready")
			}
		}
	}
	fmt.Fprintln(os.Stderr, "etcd:", err)
	return 1
}

type member struct {
	memberConfig
	clients, peers *proxy

	mu     sync.Mutex
	cmd    *exec.Cmd
	ready  chan struct{}
	ended  chan struct{}
	output strings.Builder
}

type etcd struct {
	members []*member
	// access are the TLS flags of our programs.
	access []string
}

func newMember(t *testing.T, n int, scheme string) *member {
	t.Helper()
	client, peer := must.Get(rig.FreePort())(t), must.Get(rig.FreePort())(t)
	m := &member{clients: startProxy(t, client), peers: startProxy(t, peer)}
	m.memberConfig = memberConfig{Name: fmt.Sprintf("m%d", n), Client: scheme + client.String(), Peer: "http://" + peer.String(),
		Advertise: "http://" + m.peers.Addr.String()}
	m.Dir = filepath.Join(t.TempDir(), m.Name)
	return m
}

// startEtcd runs n members, in new directories unless given.
func startEtcd(ctx context.Context, t *testing.T, n int, sync bool, dirs ...string) *etcd {
	t.Helper()
	e := &etcd{}
	for i := range n {
		m := newMember(t, i, "http://")
		if m.Sync = sync; i < len(dirs) {
			m.Dir = dirs[i]
		}
		e.members = append(e.members, m)
	}
	e.runMembers(ctx, t)
	return e
}

func startSecureEtcd(ctx context.Context, t *testing.T, tls string, access ...string) *etcd {
	t.Helper()
	m := newMember(t, 0, "https://")
	m.TLS = tls
	e := &etcd{members: []*member{m}, access: access}
	e.runMembers(ctx, t)
	return e
}

func (e *etcd) runMembers(ctx context.Context, t *testing.T) {
	t.Helper()
	var cluster []string
	for _, m := range e.members {
		cluster = append(cluster, m.Name+"="+m.Advertise)
	}
	for _, m := range e.members {
		m.Cluster = strings.Join(cluster, ",")
		m.startMember(t)
	}
	t.Cleanup(func() {
		for _, m := range e.members {
			m.killMember()
			if t.Failed() {
				m.mu.Lock()
				t.Logf("%s says:\n%s", m.Name, keepLastLines(m.output.String(), 20))
				m.mu.Unlock()
				if to := keptFile(t, m.Name); to != "" {
					t.Logf("its directory is kept as %s: %v", to, os.CopyFS(to, os.DirFS(m.Dir)))
				}
			}
		}
	})
	for _, m := range e.members {
		m.waitReady(ctx, t)
	}
}

func (m *member) startMember(t *testing.T) {
	t.Helper()
	config := must.Get(json.Marshal(m.memberConfig))(t)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cmd = exec.Command(os.Args[0], "-test.run=^$")
	m.cmd.Env = append(os.Environ(), memberEnv+"="+string(config))
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out := must.Get(m.cmd.StdoutPipe())(t)
	wrong := must.Get(m.cmd.StderrPipe())(t)
	must.Succeed(t, m.cmd.Start())
	m.ready, m.ended = make(chan struct{}), make(chan struct{})
	cmd, ready, ended := m.cmd, m.ready, m.ended
	var streams sync.WaitGroup
	streams.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if lines.Text() == "ready" {
				close(ready)
			}
		}
	})
	streams.Go(func() {
		for lines := bufio.NewReader(wrong); ; {
			line, err := lines.ReadString('\n')
			m.mu.Lock()
			m.output.WriteString(line)
			m.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	go func() {
		streams.Wait()
		_ = cmd.Wait()
		close(ended)
	}()
}

func (m *member) waitReady(ctx context.Context, t *testing.T) {
	t.Helper()
	select {
	case <-m.ready:
	case <-m.ended:
		t.Fatalf("etcd member %s ended: %s", m.Name, m.output.String())
	case <-ctx.Done():
		t.Fatalf("etcd member %s is not ready", m.Name)
	}
}

func (m *member) sendSignal(s syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.cmd.Process.Signal(s)
}

func (m *member) killMember() {
	m.sendSignal(syscall.SIGKILL)
	<-m.ended
}

func (m *member) readPID() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cmd.Process.Pid
}

func (e *etcd) listEndpoints() string {
	var all []string
	for _, m := range e.members {
		all = append(all, m.makeEndpoint())
	}
	return strings.Join(all, ",")
}

func (m *member) makeEndpoint() string {
	if m.TLS != "" {
		return "https://" + m.clients.Addr.String()
	}
	return "http://" + m.clients.Addr.String()
}

func connectMembers(t *testing.T, members ...*member) *clientv3.Client {
	t.Helper()
	var at []string
	for _, m := range members {
		at = append(at, m.Client)
	}
	c := must.Get(clientv3.New(clientv3.Config{Endpoints: at, DialTimeout: 10 * time.Second, Logger: zap.NewNop()}))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

func (e *etcd) findLeader(ctx context.Context, t *testing.T) *member {
	t.Helper()
	var found *member
	until(ctx, t, "a leader", func() error {
		for _, m := range e.members {
			short, cancel := context.WithTimeout(ctx, time.Second)
			status, err := connectMembers(t, m).Status(short, m.Client)
			cancel()
			if err == nil && status.Leader != 0 && status.Leader == status.Header.MemberId {
				found = m
				return nil
			}
		}
		return errors.New("no member says that it leads")
	})
	return found
}

func (e *etcd) isolateMember(lonely *member) {
	for _, m := range e.members {
		if m == lonely {
			m.peers.partitionClients(nil)
			continue
		}
		m.peers.partitionClients(func(from netip.AddrPort) bool { return holdsConnection(lonely.readPID(), from) })
	}
}

func (e *etcd) healMembers() {
	for _, m := range e.members {
		m.peers.healClients()
	}
}

// holdsConnection: a connection does not name the dialling program.
func holdsConnection(pid int, from netip.AddrPort) bool {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return false
	}
	local := fmt.Sprintf("0100007F:%04X", from.Port())
	for _, line := range strings.Split(string(table), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[1] != local {
			continue
		}
		fds, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
		if err != nil {
			return false
		}
		return slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
			to, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "fd", fd.Name()))
			return err == nil && to == "socket:["+fields[9]+"]"
		})
	}
	return false
}

func keepLastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
