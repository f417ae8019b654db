// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bindagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
)

const (
	// The agent gets a health request every healthPause, has half of that time to answer, and is killed after
	// maxSilences missing answers.
	healthPause, maxSilences = 10 * time.Second, 3
	// restartPause doubles with each restart up to maxRestartPause. A run longer than maxRestartPause resets the pause.
	restartPause, maxRestartPause = time.Second, 30 * time.Second
	namedPause, maxFailures       = 2 * time.Second, 2
)

// supervisor is the first process in the container of the agent. The agent is a child process, started again after each
// crash. Otherwise a crash would end the container, and Kubernetes would remove the pod from Services although BIND
// answers.
type supervisor struct {
	// probe is the address of the readiness probe, open while BIND answers.
	probe                   string
	nameserver              string // the address of BIND
	health                  string // the URL for requests about the agent's health
	command                 func(ctx context.Context) *exec.Cmd
	healthPause, namedPause time.Duration // between checks of the agent, and of BIND
	logger                  *slog.Logger
}

// newSupervisor returns a supervisor whose command is this program with the same arguments and an empty --supervise,
// which the child takes over the earlier flag.
func (o *options) newSupervisor(out, stderr io.Writer, logger *slog.Logger) (*supervisor, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(o.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %q must be [ADDRESS]:PORT", o.listen)
	}
	// The agent listens on all addresses, and the health requests come over loopback.
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if o.tlsCert != "" {
		scheme = "https"
	}
	return &supervisor{
		probe: o.supervise, nameserver: o.dnsServer, healthPause: healthPause, namedPause: namedPause, logger: logger,
		health: scheme + "://" + net.JoinHostPort(host, port) + protocol.Base + "/health",
		command: func(ctx context.Context) *exec.Cmd {
			command := exec.CommandContext(ctx, program, append(os.Args[1:len(os.Args):len(os.Args)], "--supervise=")...)
			command.Stdout, command.Stderr = out, stderr
			return command
		},
	}, nil
}

// run watches BIND, and runs the agent again after each end, until ctx ends. A probe address that cannot be opened is
// an error at once.
func (s *supervisor) run(ctx context.Context) error {
	open, err := net.Listen("tcp", s.probe)
	if err != nil {
		return fmt.Errorf("--supervise: %w; name an address of this machine and a free port", err)
	}
	// watchNamed opens the address once BIND answers. Now it was only tried.
	if err := open.Close(); err != nil {
		return err
	}
	go s.watchNamed(ctx)
	for pause := restartPause; ; {
		began := time.Now()
		err := s.runAgent(ctx)
		if ctx.Err() != nil {
			return nil
		}
		// The agent has worked, so this failure is the first of its kind.
		if time.Since(began) > maxRestartPause {
			pause = restartPause
		}
		s.logger.Warn("the agent has ended and is started again", "err", err, "after", pause)
		select {
		case <-time.After(pause):
			pause = min(2*pause, maxRestartPause)
		case <-ctx.Done():
			return nil
		}
	}
}

// runAgent runs the agent until it ends, or hangs and is killed. The error is never nil. The end of ctx sends SIGTERM,
// and the agent then finishes its requests.
func (s *supervisor) runAgent(ctx context.Context) error {
	running, ended := context.WithCancel(ctx)
	defer ended()
	command := s.command(ctx)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = endTime + time.Second // the agent waits endTime for its requests
	if err := command.Start(); err != nil {
		return err
	}
	// Ask for health from aside, since a hanging agent does not end by itself.
	go func() {
		for silences := 0; silences < maxSilences; {
			select {
			case <-time.After(s.healthPause):
			case <-running.Done():
				return
			}
			if err := s.askHealth(running); err == nil {
				silences = 0
			} else if silences++; running.Err() == nil {
				s.logger.Warn("the agent does not answer", "err", err, "times", silences)
			}
		}
		_ = command.Process.Kill() // Wait returns the error
	}()
	err := command.Wait()
	if err == nil {
		err = errors.New("it ended by itself")
	}
	return err
}

// prober verifies no certificate, as the server is the child process.
var prober = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

func (s *supervisor) askHealth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.healthPause/2)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.health, nil)
	if err != nil {
		return err
	}
	response, err := prober.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// watchNamed keeps the port of the readiness probe open while BIND answers, and closes it after maxFailures failed
// checks. The kernel accepts connections even if this process hangs, so the pod stays in the Service.
func (s *supervisor) watchNamed(ctx context.Context) {
	var probe net.Listener
	closeProbe := func() {
		if probe != nil {
			probe.Close()
			probe = nil
		}
	}
	defer closeProbe()
	for failures := 0; ctx.Err() == nil; {
		err := agent.ProbeNamed(ctx, s.nameserver)
		if err == nil {
			failures = 0
		} else {
			failures++
		}
		switch {
		case err == nil && probe == nil:
			probe = s.openProbe()
		// A single lost packet is no reason to take the server out of the Service.
		case failures >= maxFailures && probe != nil && ctx.Err() == nil:
			s.logger.Warn("named does not answer DNS: the server is not ready until it does", "err", err)
			closeProbe()
		}
		select {
		case <-time.After(s.namedPause):
		case <-ctx.Done():
		}
	}
}

// openProbe listens at the probe address, and closes each connection at once: a TCP probe wants no more. It returns nil
// if the address cannot be opened, and the next check tries again.
func (s *supervisor) openProbe() net.Listener {
	open, err := net.Listen("tcp", s.probe)
	if err != nil {
		s.logger.Warn("the probe address cannot be opened", "err", err)
		return nil
	}
	go func() {
		for {
			conn, err := open.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				time.Sleep(s.namedPause) // no file descriptor is left
				continue
			}
			conn.Close()
		}
	}()
	return open
}
