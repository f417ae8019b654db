// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kuberig

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/test/rig"
)

// ServerConfig describes one replica of `kubizone apiserver` behind a control plane.
type ServerConfig struct {
	Program string // path of the kubizone binary
	Kube    *Kube
	// Kubeconfig is what the server asks kube-apiserver with: Kube.Delegate makes one.
	Kubeconfig string
	// Etcd is the endpoint that replicas share; empty: a member of the server's own in its directory.
	Etcd string
	// Addr is where it listens; zero: a free loopback port.
	Addr netip.AddrPort
	// Serving is its certificate; zero: one of the cluster's authority for ServingHosts.
	Serving rig.Pair
	Args    []string // further flags
	Env     []string // KEY=value, beside what this process has
}

// Server is a running replica.
type Server struct {
	Addr netip.AddrPort

	dir     string
	kube    *Kube
	process *rig.Process
}

// StartServer starts a replica with everything it keeps below dir and returns when it is ready. The caller calls Stop,
// Kill or Close. A server started again on the same dir without Etcd has its data.
func StartServer(ctx context.Context, dir string, c ServerConfig) (*Server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if c.Serving.Cert == nil {
		var err error
		if c.Serving, err = c.Kube.ClusterCA.Serving(ServingHosts()...); err != nil {
			return nil, err
		}
	}
	s := &Server{dir: dir, kube: c.Kube}
	cert, key, err := c.Serving.Write(s.findCertificate())
	if err != nil {
		return nil, err
	}
	if s.Addr = c.Addr; !s.Addr.IsValid() {
		if s.Addr, err = rig.FreePort(); err != nil {
			return nil, err
		}
	}
	args := []string{
		"apiserver",
		"--bind-address", s.Addr.Addr().String(), "--secure-port", portOf(s.Addr),
		"--tls-cert-file", cert, "--tls-private-key-file", key,
		"--kubeconfig", c.Kubeconfig, "--authentication-kubeconfig", c.Kubeconfig, "--authorization-kubeconfig", c.Kubeconfig,
	}
	if c.Etcd != "" {
		args = append(args, "--etcd-servers", c.Etcd)
	} else {
		args = append(args, "--etcd-data-dir", filepath.Join(dir, "data"))
	}
	if s.process, err = rig.StartProcess(c.Env, dir, c.Program, append(args, c.Args...)...); err != nil {
		return nil, err
	}
	if err = waitReady(ctx, s.process, s.makeAnonymousConfig(), "/readyz", 2*time.Minute); err != nil {
		s.Kill()
		return nil, fmt.Errorf("kubizone apiserver: %w", err)
	}
	return s, nil
}

func (s *Server) findCertificate() string { return filepath.Join(s.dir, "serving") }

// Rotate puts another serving certificate where the server reads it.
func (s *Server) Rotate(serving rig.Pair) error {
	_, _, err := serving.Write(s.findCertificate())
	return err
}

// URL is where it answers without the aggregator.
func (s *Server) URL() string { return "https://" + s.Addr.String() }

func (s *Server) makeAnonymousConfig() *rest.Config {
	return &rest.Config{Host: s.URL(), TLSClientConfig: rest.TLSClientConfig{CAData: s.kube.ClusterCA.PEM}}
}

// Direct is the configuration of a client that goes straight to the server as the user of the kubeconfig.
func (s *Server) Direct(kubeconfig string) (*rest.Config, error) {
	config, err := ClientConfig(kubeconfig)
	if err == nil {
		config.Host = s.URL()
	}
	return config, err
}

// Log is what the server wrote so far (its last megabyte at least).
func (s *Server) Log() string { return s.process.Log() }

// Pid is the process id.
func (s *Server) Pid() int { return s.process.Pid() }

// Ended is closed when the process is gone, however that came.
func (s *Server) Ended() <-chan struct{} { return s.process.Ended() }

// Signal sends a signal to the process: SIGSTOP makes it stand still with its connections open, SIGCONT lets it go on.
func (s *Server) Signal(signal syscall.Signal) error { return s.process.Signal(signal) }

// Stop asks the server to end, as a kubelet does, and returns what it says to that. One that has not within ctx is
// killed.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.process.Ended():
		return s.process.Err()
	case <-ctx.Done():
		s.Kill()
		return fmt.Errorf("kubizone apiserver did not end when asked: %w; it says:\n%s", context.Cause(ctx), s.Log())
	}
}

// Kill ends the server as a power failure does.
func (s *Server) Kill() { s.process.Kill() }

// Close ends the server and removes its directory.
func (s *Server) Close() error {
	select {
	case <-s.process.Ended():
	default:
		s.process.End()
	}
	return errors.Join(os.RemoveAll(s.dir))
}
