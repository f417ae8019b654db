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

type peer struct {
	Addr netip.AddrPort

	name, dir string
	process   *Process
	command   []string
	checkUp   func(ctx context.Context) error
	timeout   time.Duration // added to startTimeout
}

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

// Start starts the peer, also after Stop, with an empty log.
func (p *peer) Start(ctx context.Context) error {
	var err error
	if p.process, err = StartProcess(nil, p.dir, p.command[0], p.command[1:]...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout+p.timeout)
	defer cancel()
	return p.wait(ctx, func() error { return p.checkUp(ctx) })
}

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

func (p *peer) checkAnswer(ctx context.Context) error {
	if _, _, err := (Dig{Server: p.Addr}).Serial(ctx, "."); err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	return nil
}

func (p *peer) Serial(ctx context.Context, zone string) (serial uint32, ok bool, err error) {
	return Dig{Server: p.Addr}.Serial(ctx, zone, "+tries=3", "+time=5")
}

func (p *peer) WaitSerial(ctx context.Context, zone string, want uint32) error {
	return p.wait(ctx, func() error {
		got, ok, err := Dig{Server: p.Addr}.Serial(ctx, zone)
		if err == nil && ok && got == want {
			return nil
		}
		return fmt.Errorf("zone %s: serial %d is not here, the last seen was %d (zero: none), %v", zone, want, got, err)
	})
}

func (p *peer) Transfer(ctx context.Context, zone string) ([]string, error) {
	return Dig{Server: p.Addr}.Transfer(ctx, zone)
}

func (p *peer) Log() string {
	if p.process == nil {
		return ""
	}
	return p.process.Log()
}

func (p *peer) Pid() int { return p.process.Pid() }

func (p *peer) Dir() string { return p.dir }

func (p *peer) Stop() { p.process.End() }

func (p *peer) Close() error {
	if p.process != nil {
		p.process.End()
	}
	return os.RemoveAll(p.dir)
}
