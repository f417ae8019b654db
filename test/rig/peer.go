// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"
)

// peer is a name server that the rig started, in a directory of its own.
type peer struct {
	Addr netip.AddrPort

	name, dir string
	process   *Process
	command   []string // the program and its arguments
	checkUp   func(ctx context.Context) error
	timeout   time.Duration // of a start, beside startTimeout
}

// launch starts a peer with the command that configure returns, at an address or at a free port. It returns when
// checkUp has no error, and leaves nothing behind where that does not come.
func (p *peer) launch(ctx context.Context, at netip.AddrPort, configure func() (command []string, err error)) (err error) {
	if p.dir, err = os.MkdirTemp("", "kubizone-"+p.name+"-"); err != nil {
		return err
	}
	if p.Addr = at; !at.IsValid() {
		p.Addr, err = FreePort()
	}
	if err == nil {
		p.command, err = configure()
	}
	if err == nil {
		err = p.Start(ctx)
	}
	if err != nil {
		p.Close()
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// Start starts it, after Stop with what it had, and with an empty log.
func (p *peer) Start(ctx context.Context) error {
	var err error
	if p.process, err = StartProcess(nil, p.dir, p.command[0], p.command[1:]...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout+p.timeout)
	defer cancel()
	return p.wait(ctx, func() error { return p.checkUp(ctx) })
}

// wait returns when a fact has no error, and what it lacks, with the log, when the peer or ctx has ended before.
func (p *peer) wait(ctx context.Context, fact func() error) error {
	for {
		err := fact()
		if err == nil {
			return nil
		}
		select {
		case <-p.process.Ended():
			return fmt.Errorf("%s ended: %v, and %w\n%s", p.name, p.process.Err(), err, p.Log())
		case <-ctx.Done():
			return fmt.Errorf("%w in time; %s says:\n%s", err, p.name, p.Log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// checkAnswer is nil when the peer answers at all.
func (p *peer) checkAnswer(ctx context.Context) error {
	if _, _, err := (Dig{Server: p.Addr}).Serial(ctx, "."); err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	return nil
}

// Serial is the SOA serial that this server answers with for the zone. ok is false while it has none to serve.
func (p *peer) Serial(ctx context.Context, zone string) (serial uint32, ok bool, err error) {
	return Dig{Server: p.Addr}.Serial(ctx, zone, "+tries=3", "+time=5")
}

// WaitSerial returns when the server answers with that serial, and an error with its log when it has not by the end of
// ctx.
func (p *peer) WaitSerial(ctx context.Context, zone string, want uint32) error {
	return p.wait(ctx, func() error {
		got, ok, err := Dig{Server: p.Addr}.Serial(ctx, zone)
		if err == nil && ok && got == want {
			return nil
		}
		return fmt.Errorf("zone %s: serial %d is not here, the last seen was %d (zero: none), %v", zone, want, got, err)
	})
}

// Transfer is the zone as this server hands it on by AXFR, as a canonical list of records (see Canonical).
func (p *peer) Transfer(ctx context.Context, zone string) ([]string, error) {
	return Dig{Server: p.Addr}.Transfer(ctx, zone)
}

// Log is what it wrote so far (its last megabyte at least).
func (p *peer) Log() string {
	if p.process == nil {
		return ""
	}
	return p.process.Log()
}

// Pid is the process id.
func (p *peer) Pid() int { return p.process.Pid() }

// Dir is its directory.
func (p *peer) Dir() string { return p.dir }

// Stop ends it and keeps what it has.
func (p *peer) Stop() { p.process.End() }

// Close ends it and removes its directory.
func (p *peer) Close() error {
	if p.process != nil {
		p.process.End()
	}
	return os.RemoveAll(p.dir)
}
