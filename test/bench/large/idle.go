// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"time"

	"kubi.zone/kubizone/test/bench/figures"
)

const idleRecords = 3500

// idleTargets are in MB.
var idleTargets = []figures.Target{
	{What: "resident at rest, with the examples", Name: "examples/at rest", Bound: 110, Most: true},
	{What: "resident at rest, with 3,500 records", Name: "3500/at rest", Bound: 220, Most: true},
}

// measureIdle measures two servers after p.Idle without a request.
func (p *plan) measureIdle(ctx context.Context, r *figures.Results, dir, examples string) error {
	kept, err := fixture{records: idleRecords}.keepSnapshot(ctx, p.Fixtures)
	if err != nil {
		return err
	}
	full, err := p.startServer(ctx, filepath.Join(dir, "idle"), kept)
	if err != nil {
		return err
	}
	defer full.endServer()
	small, err := p.startServer(ctx, filepath.Join(dir, "examples"), "", "--load", examples)
	if err != nil {
		return err
	}
	defer small.endServer()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(p.Idle):
	}
	for i, s := range []*server{small, full} {
		resident, err := figures.Resident(s.process.Process.Pid, "VmRSS")
		if err != nil {
			return err
		}
		r.Add(idleTargets[i].Name, "MB", float64(resident)/1e6)
		printLine("%s: %d MB", idleTargets[i].What, resident/1e6)
	}
	return nil
}
