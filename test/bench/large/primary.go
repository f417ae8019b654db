// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
)

// follow starts a `kubizone primary` beside the server: how soon it has every record, and what it weighs with them.
func (p *plan) follow(ctx context.Context, r *figures.Results, n int, s *server) error {
	at53, err := rig.FreePort()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.dir, "primary.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.CommandContext(ctx, p.Program, "primary", "--kubeconfig", filepath.Join(s.dir, "kubeconfig"), "--secrets-dir", s.dir,
		"--dns-listen", at53.String(), "--health-listen", "127.0.0.1:0")
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	process.Stdout, process.Stderr = log, log
	began := time.Now()
	if err := process.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = process.Wait() }()
	defer func() { _ = process.Process.Signal(syscall.SIGTERM); <-ended }()
	has := func() (records int) {
		_ = axfr(ctx, &server{dns: netip.AddrPort(at53)}, func(got int) error { records += got; return nil })
		return records
	}
	for has() < n {
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("it ended: %.2000s", text)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if time.Since(began) > 10*time.Minute {
			return fmt.Errorf("it does not have %d records after ten minutes", n)
		}
	}
	r.Add(at(n, "primary has all"), "s", time.Since(began).Seconds())
	time.Sleep(p.Rest)
	resident, err := figures.Resident(process.Process.Pid, "VmRSS")
	r.Add(at(n, "primary resident"), "MB", float64(resident)/1e6)
	return err
}
