// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// When `kubizone up` ends, its parts stop in the reverse order of their start, because the later parts use the earlier
// ones. The end of the context, which all parts share, does not break this order (U4).
func TestParts_stopInReverseOrder(t *testing.T) {
	defer goleak.VerifyNone(t)
	var mutex sync.Mutex
	var ended []string
	p := newParts()
	ctx, cancel := context.WithCancel(t.Context())
	for _, name := range []string{"etcd", "ledger", "dns", "api"} {
		p.startPart(ctx, name, func(ctx context.Context) error {
			<-ctx.Done()
			mutex.Lock()
			defer mutex.Unlock()
			ended = append(ended, name)
			return ctx.Err()
		})
	}
	cancel()
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	if !slices.Equal(ended, []string{"api", "dns", "ledger", "etcd"}) {
		t.Errorf("ended in the order %v", ended)
	}
}

// `kubizone up` runs etcd, API server and more in one process. If one of these parts fails, or returns without an
// error, all others are stopped, and the error names the part and its cause (U4).
func TestParts_failTogether(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, run := range map[string]func() error{
		"fails":       func() error { return errors.New("no more disk") },
		"just ends":   func() error { return nil },
		"fails twice": func() error { return errors.Join(errors.New("no more disk"), errors.New("no more memory")) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newParts()
			release := make(chan struct{})
			p.startPart(t.Context(), "etcd", func(context.Context) error { <-release; return run() })
			p.startPart(t.Context(), "api", func(ctx context.Context) error { <-ctx.Done(); return nil })
			reported := false
			err := p.runDuring(t.Context(), func(ctx context.Context) error {
				close(release)
				<-ctx.Done()
				reported = true
				return ctx.Err()
			})
			if err == nil || !strings.HasPrefix(err.Error(), "etcd: ") || errors.Is(err, context.Canceled) || !reported {
				t.Errorf("during: %v, told %v", err, reported)
			}
			if err := p.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestParts_duringEndsWithItsContext(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := newParts()
	why := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := p.runDuring(ctx, func(ctx context.Context) error { cancel(why); <-ctx.Done(); return nil })
	if err != nil && !errors.Is(err, why) {
		t.Error(err)
	}
	p.startPart(t.Context(), "api", func(ctx context.Context) error { <-ctx.Done(); return errors.New("a request was cut") })
	if err := p.stop(); err == nil || !strings.Contains(err.Error(), "stopping api: a request was cut") {
		t.Errorf("stop: %v", err)
	}
}
