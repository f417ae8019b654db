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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const startTimeout = 5 * time.Minute

func main() {
	if err := runPlane(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runPlane() (err error) {
	dir, err := os.MkdirTemp("", "kubizone-controlplane-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := &plane{dir: dir}
	defer func() { err = errors.Join(err, p.closePlane()) }()
	if err := p.startPlane(slices.Contains(os.Args[1:], "kube")); err != nil {
		return err
	}
	fmt.Println(p.kube.AdminKubeconfig())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		value, err := p.executeCommand(in.Text())
		if err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println(strings.TrimSpace("done " + value))
	}
	return nil
}

type plane struct {
	dir    string
	kube   *kuberig.Kube
	server *kuberig.Server
	config kuberig.ServerConfig

	controller *rig.Process
	primary    *rig.Process
	secondary  *rig.BIND
}

// startPlane starts kube-apiserver, and behind it our server and controller unless only the first is wanted.
func (p *plane) startPlane(kubeOnly bool) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	p.kube, err = kuberig.StartKube(ctx, filepath.Join(p.dir, "kube"), kuberig.KubeConfig{})
	if err != nil || kubeOnly {
		return err
	}
	program, err := rig.Kubizone(ctx, p.dir, "")
	if err != nil {
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

func (p *plane) executeCommand(command string) (value string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	switch name, of, _ := strings.Cut(command, " "); name {
	case "stop":
		err = p.server.Stop(ctx)
	case "start":
		err = p.startServer(ctx)
	case "secondary":
		return p.startSecondary(ctx, of)
	default:
		return "", fmt.Errorf("unknown command %q: there are stop, start and secondary ZONE", command)
	}
	if err != nil {
		return "", err
	}
	_, _, err = p.kube.WaitAvailable(ctx, command == "start")
	return "", err
}

func (p *plane) startSecondary(ctx context.Context, zone string) (address string, err error) {
	if p.secondary != nil {
		return "", errors.New("there is a secondary already")
	}
	var at [2]netip.AddrPort // of the primary and of BIND
	for i := range at {
		if at[i], err = rig.FreePort(); err != nil {
			return "", err
		}
	}
	p.primary, err = rig.StartProcess(nil, p.dir, p.config.Program, "primary", "--kubeconfig", p.kube.AdminKubeconfig(),
		"--dns-listen", at[0].String(), "--health-listen", "127.0.0.1:0", "--transfer-allow", "127.0.0.1/32", "--transfer-to", at[1].String())
	if err != nil {
		return "", err
	}
	// A BIND that found no primary asks it again only after a minute.
	for !strings.Contains(p.primary.Log(), "ready: DNS on") {
		select {
		case <-p.primary.Ended():
			return "", fmt.Errorf("the primary ended: %s", p.primary.Log())
		case <-ctx.Done():
			return "", fmt.Errorf("the primary is not ready: %s", p.primary.Log())
		case <-time.After(50 * time.Millisecond):
		}
	}
	p.secondary, err = rig.StartBIND(ctx, rig.BINDConfig{Addr: at[1], Secondaries: []rig.SecondaryZone{{Zone: zone, Primary: at[0]}}})
	return at[1].String(), err
}

func (p *plane) closePlane() (err error) {
	for _, process := range []*rig.Process{p.controller, p.primary} {
		if process != nil {
			process.End()
		}
	}
	if p.secondary != nil {
		err = p.secondary.Close()
	}
	if p.server != nil {
		err = errors.Join(err, p.server.Close())
	}
	if p.kube != nil {
		err = errors.Join(err, p.kube.Close())
	}
	return err
}
