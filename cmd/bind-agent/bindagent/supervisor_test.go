// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bindagent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func openNamed(t *testing.T) (address string, answers *atomic.Bool) {
	t.Helper()
	conn := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { conn.Close() })
	answers = &atomic.Bool{}
	go func() {
		for message := make([]byte, 512); ; {
			n, from, err := conn.ReadFrom(message)
			if err != nil {
				return
			}
			if answers.Load() {
				message[2] |= 0x80 // QR
				message[3] = 5     // REFUSED
				_, _ = conn.WriteTo(message[:n], from)
			}
		}
	}()
	return conn.LocalAddr().String(), answers
}

// TestSupervisor_keepsTheProbeWhileNamedAnswers (B7): an agent that ends or hangs is restarted. Only named decides
// about the probe.
func TestSupervisor_keepsTheProbeWhileNamedAnswers(t *testing.T) {
	nameserver, answers := openNamed(t)
	var healthy atomic.Bool
	healthy.Store(true)
	health := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !healthy.Load() {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(health.Close)
	probe, pidFile := must.Get(rig.FreePort())(t), filepath.Join(t.TempDir(), "pid")
	s := &supervisor{
		probe: probe.String(), nameserver: nameserver, health: health.URL,
		healthPause: 200 * time.Millisecond, namedPause: 10 * time.Millisecond,
		command: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, "sh", "-c", "trap 'exit 0' TERM; echo $$ >"+pidFile+"; while :; do sleep 0.1; done")
		},
		logger: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	wait, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	expectProbe := func(open bool) {
		t.Helper()
		rig.Until(wait, t, "the probe address is open: "+strconv.FormatBool(open), func() error {
			conn, err := net.Dial("tcp", s.probe)
			if err == nil {
				conn.Close()
			}
			if (err == nil) != open {
				return errors.New("it is not so")
			}
			return nil
		})
	}
	expectAgent := func(former int) (pid int) {
		t.Helper()
		rig.Until(wait, t, "another agent runs", func() error {
			text, err := os.ReadFile(pidFile)
			if err != nil {
				return err
			}
			if pid, err = strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid == former {
				err = errors.New("it is the former one")
			}
			return err
		})
		return pid
	}
	first := expectAgent(0)
	expectProbe(false)
	answers.Store(true)
	expectProbe(true)
	watched, watch := make(chan error, 1), make(chan struct{})
	go func() {
		for {
			conn, err := net.Dial("tcp", s.probe)
			if err != nil {
				watched <- err
				return
			}
			conn.Close()
			select {
			case <-watch:
				watched <- nil
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	must.Succeed(t, syscall.Kill(first, syscall.SIGKILL))
	second := expectAgent(first)
	healthy.Store(false)
	third := expectAgent(second)
	if err := syscall.Kill(second, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the agent that hangs is still there: %v", err)
	}
	healthy.Store(true)
	close(watch)
	must.Succeed(t, <-watched)
	answers.Store(false)
	expectProbe(false)
	answers.Store(true)
	expectProbe(true)
	cancel()
	must.Succeed(t, <-ended)
	expectProbe(false)
	if err := syscall.Kill(third, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the agent outlives its supervisor: %v", err)
	}
}

// With --supervise the process starts an agent as its child, with the same flags except --supervise, and probes its
// health. The URL of the probe follows from --listen, with localhost in place of an unspecified address.
func TestNewSupervisor_startsAnAgent(t *testing.T) {
	for listen, health := range map[string]string{
		":8443": "https://localhost:8443", "0.0.0.0:8443": "https://localhost:8443", "[::]:1": "https://localhost:1",
		"192.0.2.1:2": "https://192.0.2.1:2",
	} {
		o := newOptions()
		o.listen, o.tlsCert, o.supervise = listen, "tls.crt", ":8053"
		s := must.Get(o.newSupervisor(io.Discard, io.Discard, slog.New(slog.DiscardHandler)))(t)
		if s.health != health+protocol.Base+"/health" {
			t.Errorf("--listen %s: %s", listen, s.health)
		}
		want := append(slices.Clone(os.Args[1:]), "--supervise=")
		if args := s.command(t.Context()).Args[1:]; !slices.Equal(args, want) {
			t.Errorf("arguments %q, want %q", args, want)
		}
	}
}

// The error of an unusable address names its flag (B1).
func TestSupervisor_judgesItsAddress(t *testing.T) {
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	for flag, listen := range map[string]string{"--supervise": "127.0.0.1:8080", "--listen": "8080"} {
		command := NewCommand()
		command.SilenceErrors, command.SilenceUsage = true, true
		command.SetArgs([]string{"--supervise", taken.Addr().String(), "--listen", listen})
		if err := command.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), flag+": ") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
