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

type ServerConfig struct {
	Program    string
	Kube       *Kube
	Kubeconfig string
	// Etcd is the replicas' endpoint; "" means a member in the server's directory.
	Etcd string
	Addr netip.AddrPort
	// Serving is the certificate; if zero, one of the cluster's authority for ServingHosts.
	Serving rig.Pair
	Args    []string
	Env     []string // KEY=value, beside this process's
}

type Server struct {
	Addr netip.AddrPort

	dir     string
	kube    *Kube
	process *rig.Process
}

// StartServer returns when the server is ready. The caller calls Stop, Kill or Close. Without Etcd, dir keeps the data.
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

func (s *Server) Rotate(serving rig.Pair) error {
	_, _, err := serving.Write(s.findCertificate())
	return err
}

func (s *Server) URL() string { return "https://" + s.Addr.String() }

func (s *Server) makeAnonymousConfig() *rest.Config {
	return &rest.Config{Host: s.URL(), TLSClientConfig: rest.TLSClientConfig{CAData: s.kube.ClusterCA.PEM}}
}

func (s *Server) Direct(kubeconfig string) (*rest.Config, error) {
	config, err := ClientConfig(kubeconfig)
	if err == nil {
		config.Host = s.URL()
	}
	return config, err
}

func (s *Server) Log() string { return s.process.Log() }

func (s *Server) Pid() int { return s.process.Pid() }

func (s *Server) Ended() <-chan struct{} { return s.process.Ended() }

// Signal keeps connections open with SIGSTOP.
func (s *Server) Signal(signal syscall.Signal) error { return s.process.Signal(signal) }

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

// Kill sends SIGKILL and waits.
func (s *Server) Kill() { s.process.Kill() }

func (s *Server) Close() error {
	select {
	case <-s.process.Ended():
	default:
		s.process.End()
	}
	return errors.Join(os.RemoveAll(s.dir))
}
