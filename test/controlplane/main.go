// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// startTimeout bounds each start: a loaded machine is slow, not wrong.
const startTimeout = 5 * time.Minute

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() (err error) {
	dir, err := os.MkdirTemp("", "kubizone-controlplane-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := &plane{dir: dir}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.start(); err != nil {
		return err
	}
	fmt.Println(p.kube.AdminKubeconfig())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := p.execute(in.Text()); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("done")
	}
	return nil
}

// plane is what runs.
type plane struct {
	dir    string
	kube   *kuberig.Kube
	server *kuberig.Server
	config kuberig.ServerConfig

	controller *rig.Process
}

func (p *plane) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	program, err := rig.Kubizone(ctx, p.dir, "")
	if err != nil {
		return err
	}
	if p.kube, err = kuberig.StartKube(ctx, filepath.Join(p.dir, "kube"), kuberig.KubeConfig{}); err != nil {
		return err
	}
	p.config = kuberig.ServerConfig{Program: program, Kube: p.kube, Args: []string{"--shutdown-delay-duration", "0s"}}
	if p.config.Kubeconfig, err = p.kube.Delegate(ctx); err != nil {
		return err
	}
	if err := p.startServer(ctx); err != nil {
		return err
	}
	p.config.Addr = p.server.Addr
	if err := p.kube.Aggregate(ctx, p.server.Addr, p.kube.ClusterCA.PEM); err != nil {
		return err
	}
	if _, _, err := p.kube.WaitAvailable(ctx, true); err != nil {
		return err
	}
	p.controller, err = rig.StartProcess(nil, p.dir, program, "controller", "--kubeconfig", p.kube.AdminKubeconfig(), "--health-listen", "127.0.0.1:0")
	return err
}

func (p *plane) startServer(ctx context.Context) (err error) {
	p.server, err = kuberig.StartServer(ctx, filepath.Join(p.dir, "server"), p.config)
	return err
}

func (p *plane) execute(command string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	switch command {
	case "stop":
		if err := p.server.Stop(ctx); err != nil {
			return err
		}
	case "start":
		if err := p.startServer(ctx); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown command %q: there are stop and start", command)
	}
	_, _, err := p.kube.WaitAvailable(ctx, command == "start")
	return err
}

func (p *plane) close() (err error) {
	if p.controller != nil {
		p.controller.End()
	}
	if p.server != nil {
		err = p.server.Close()
	}
	if p.kube != nil {
		err = errors.Join(err, p.kube.Close())
	}
	return err
}
