// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
)

type memory struct {
	// octets in use after a collection
	live    float64
	mallocs float64
}

func (s *server) measureMemory(ctx context.Context) (m memory, err error) {
	text, err := s.client.Discovery().RESTClient().Get().AbsPath("/debug/pprof/heap").Param("gc", "1").Param("debug", "1").DoRaw(ctx)
	if err != nil {
		return m, err
	}
	found := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		for name, into := range map[string]*float64{"# HeapAlloc = ": &m.live, "# Mallocs = ": &m.mallocs} {
			if rest, ok := strings.CutPrefix(lines.Text(), name); ok {
				if _, err := fmt.Sscan(rest, into); err != nil {
					return m, err
				}
				found++
			}
		}
	}
	if found != 2 {
		return m, fmt.Errorf("the heap profile of the server has no line HeapAlloc or Mallocs")
	}
	return m, nil
}

func (s *server) writeHeapProfile(ctx context.Context, dir, name string) error {
	profile, err := s.client.Discovery().RESTClient().Get().AbsPath("/debug/pprof/heap").Param("gc", "1").DoRaw(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".heap"), profile, 0o644)
}

// measureCPU returns µs and allocations of f, divided by n.
func (s *server) measureCPU(ctx context.Context, n int, f func() error) (cpu, mallocs float64, err error) {
	before, err := s.measureMemory(ctx)
	if err != nil {
		return 0, 0, err
	}
	pid := s.process.Process.Pid
	began, err := figures.CPU(pid)
	if err != nil {
		return 0, 0, err
	}
	if err := f(); err != nil {
		return 0, 0, err
	}
	ended, err := figures.CPU(pid)
	if err != nil {
		return 0, 0, err
	}
	after, err := s.measureMemory(ctx)
	return float64((ended-began)/time.Microsecond) / float64(n), (after.mallocs - before.mallocs) / float64(n), err
}
