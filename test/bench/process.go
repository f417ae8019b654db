// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
)

type process struct {
	places
	pid     int
	input   io.Closer
	command *exec.Cmd
}

const startTime = 2 * time.Minute

func startProcess(ctx context.Context, r role) (*process, error) {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	program, err := r.findProgram(self)
	if err != nil {
		return nil, err
	}
	c := exec.Command(program[0], program[1:]...)
	c.Env = append(os.Environ(), roleVariable+"="+string(text))
	c.Stderr = os.Stderr
	input, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &process{pid: c.Process.Pid, input: input, command: c}
	ready := make(chan error, 1)
	go func() {
		line, err := bufio.NewReader(output).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &p.places)
		}
		ready <- err
	}()
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(startTime):
		err = fmt.Errorf("not ready after %s", startTime)
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("starting %s: %w", r.Kind, err)
	}
	return p, nil
}

// findProgram uses strace for a slower disk.
func (r role) findProgram(self string) ([]string, error) {
	if r.SlowDisk == 0 {
		return []string{self}, nil
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		return nil, fmt.Errorf("-slow-disk: %w; install it (Debian: apt-get install strace)", err)
	}
	hold := fmt.Sprintf("inject=fdatasync:delay_exit=%d", r.SlowDisk.Microseconds())
	return []string{strace, "-f", "--seccomp-bpf", "-qq", "-o", os.DevNull, "-e", "trace=fdatasync", "-e", hold, self}, nil
}

func (p *process) stop() {
	_ = p.input.Close()
	force := time.AfterFunc(30*time.Second, func() { _ = p.command.Process.Kill() })
	_ = p.command.Wait()
	force.Stop()
}

func (p *process) callControl(ctx context.Context, control, file string) ([]byte, error) {
	return figures.FetchOverSocket(ctx, p.Control, control+"?file="+url.QueryEscape(file))
}

func (p *process) readCounters(ctx context.Context) (c counters, err error) {
	body, err := p.callControl(ctx, "/counters", "")
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	return c, err
}

type log struct{ txns, ranges, fsyncs, bytes float64 }

func (p *process) readMetrics(ctx context.Context) (log, error) {
	body, err := figures.FetchOverSocket(ctx, strings.TrimPrefix(p.Etcd, "unix://"), "/metrics")
	if err != nil {
		return log{}, err
	}
	var l log
	wanted := map[string]*float64{
		`grpc_server_handled_total{grpc_code="OK",grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"}`:   &l.txns,
		`grpc_server_handled_total{grpc_code="OK",grpc_method="Range",grpc_service="etcdserverpb.KV",grpc_type="unary"}`: &l.ranges,
		"etcd_disk_wal_fsync_duration_seconds_count": &l.fsyncs,
		"etcd_disk_wal_write_bytes_total":            &l.bytes,
	}
	found := 0
	for line := range strings.Lines(string(body)) {
		i := strings.LastIndexByte(line, ' ')
		if i < 0 {
			continue
		}
		if into := wanted[line[:i]]; into != nil {
			if *into, err = strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64); err != nil {
				return log{}, fmt.Errorf("metrics of etcd: %q: %w", line, err)
			}
			found++
		}
	}
	if found != len(wanted) {
		return log{}, fmt.Errorf("metrics of etcd: %d of %d found: has a release renamed some?", found, len(wanted))
	}
	return l, nil
}

func (l log) subtractLog(m log) log {
	return log{txns: l.txns - m.txns, ranges: l.ranges - m.ranges, fsyncs: l.fsyncs - m.fsyncs, bytes: l.bytes - m.bytes}
}
