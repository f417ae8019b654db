// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
)

type server struct {
	dir     string
	process *exec.Cmd
	ended   chan struct{}
	dns     netip.AddrPort
	config  *rest.Config
	client  *versioned.Clientset
	// ready is the time to the ready line, cpu the CPU time until then; resident is memory after a rest, with etcd's
	// mapped pages.
	ready    time.Duration
	cpu      time.Duration
	resident uint64
}

// startServer starts a server on a copy of the snapshot kept; "" means an empty store.
func (p *plan) startServer(ctx context.Context, dir, kept string, further ...string) (*server, error) {
	data, err := embed.OpenDir(dir, 1<<30)
	if err != nil {
		return nil, err
	}
	if kept != "" {
		err = data.Restore(embed.Snapshot{Path: kept})
	}
	if err := errors.Join(err, data.Close()); err != nil {
		return nil, err
	}
	api, err := rig.FreePort()
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, ended: make(chan struct{})}
	if s.dns, err = rig.FreePort(); err != nil {
		return nil, err
	}
	s.process = exec.Command(p.Program, append([]string{"up", "--data-dir", dir, "--listen", api.String(), "--dns-listen", s.dns.String()},
		further...)...)
	// Linux divides a busy machine between sessions.
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.process.Stderr = log
	began := time.Now()
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		defer close(s.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "ready") && s.ready == 0 {
				s.ready = time.Since(began)
				close(ready)
			}
		}
		_ = s.process.Wait()
	}()
	select {
	case <-ready:
	case <-s.ended:
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%s ended before it was ready: %.2000s", p.Program, text)
	case <-ctx.Done():
		s.stop()
		return nil, ctx.Err()
	}
	if s.config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig")); err == nil {
		s.config.QPS = -1
		s.client, err = versioned.NewForConfig(s.config)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	if s.cpu, err = figures.CPU(s.process.Process.Pid); err == nil {
		time.Sleep(p.Rest)
		s.resident, err = figures.Resident(s.process.Process.Pid, "VmRSS")
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) waitForRecords(ctx context.Context, n int, rest time.Duration) error {
	for until := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		got, err := s.readCounter(ctx, "apiserver_init_events_total", `{group="kubi.zone",resource="records"}`)
		if err != nil {
			return err
		}
		if int(got) >= n {
			time.Sleep(rest)
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("the controller was sent %.0f of %d records within ten minutes", got, n)
		}
	}
}

func (s *server) stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		_ = s.process.Process.Kill()
		<-s.ended
	}
}

func (s *server) endServer() {
	s.stop()
	_ = os.RemoveAll(s.dir)
}

func (s *server) readCounter(ctx context.Context, name, of string) (float64, error) {
	text, err := s.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	return figures.SumCounters(text, name, func(labels string) bool { return labels == of })
}
