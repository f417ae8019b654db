// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"
)

type BindcarConfig struct {
	ZoneDir    string // named's directory
	Control    Control
	Nameserver netip.AddrPort
	Token      string
}

type Bindcar struct {
	URL     string
	process *Process
}

func BindcarProgram() (string, error) {
	return findBuilt("bindcar", "hack/build-bindcar.sh")
}

func StartBindcar(ctx context.Context, c BindcarConfig) (*Bindcar, error) {
	program, err := BindcarProgram()
	if err != nil {
		return nil, err
	}
	at, err := FreePort()
	if err != nil {
		return nil, err
	}
	process, err := StartProcess([]string{
		"API_PORT=" + fmt.Sprint(at.Port()), "BIND_API_ADDRESS=127.0.0.1", "BIND_API_TOKEN=" + c.Token, "BIND_ZONE_DIR=" + c.ZoneDir,
		"RNDC_SERVER=" + c.Control.Addr.String(), "RNDC_ALGORITHM=" + c.Control.Key.Algorithm, "RNDC_SECRET=" + c.Control.Key.Secret,
		"NSUPDATE_SERVER=127.0.0.1", "NSUPDATE_PORT=" + fmt.Sprint(c.Nameserver.Port()), "RATE_LIMIT_ENABLED=false", "RUST_LOG=info",
	}, c.ZoneDir, program, "run")
	if err != nil {
		return nil, err
	}
	b := &Bindcar{URL: "http://" + at.String(), process: process}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.URL+"/api/v1/health", nil)
		if err != nil {
			return nil, err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			return b, nil
		}
		select {
		case <-process.Ended():
			return nil, fmt.Errorf("bindcar ended at once: %w\n%s", process.Err(), process.Log())
		case <-ctx.Done():
			b.Close()
			return nil, fmt.Errorf("bindcar does not answer in time:\n%s", process.Log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (b *Bindcar) Log() string { return b.process.Log() }

func (b *Bindcar) Close() { b.process.End() }
