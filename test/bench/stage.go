// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// stage has an etcd for each arm: a shared etcd would hold several arms' writes.
type stage struct {
	one, many, plain *backend
	arms             []*arm
}

const (
	hotDomain = "hot.example."
	manyZones = 16
)

func newStage(ctx context.Context, dir string, slow time.Duration, started func(*process)) (*stage, error) {
	s := &stage{}
	var err error
	for name, b := range map[string]**backend{"o": &s.one, "m": &s.many, "p": &s.plain} {
		if *b, err = newBackend(ctx, filepath.Join(dir, name), b == &s.plain, slow, started); err != nil {
			return nil, err
		}
	}
	if err := s.one.makeZone(ctx, "hot", hotDomain); err != nil {
		return nil, err
	}
	var many []string
	for i := range manyZones {
		many = append(many, fmt.Sprintf("z%02d.example.", i))
		if err := s.many.makeZone(ctx, fmt.Sprintf("z%02d", i), many[i]); err != nil {
			return nil, err
		}
	}
	s.arms = []*arm{
		{name: armOne, server: s.one.server, etcd: s.one.etcd, batch: s.one.makeBatch([]string{hotDomain})},
		{name: armPlain, server: s.plain.server, etcd: s.plain.etcd, batch: s.plain.makeBatch([]string{hotDomain})},
		{name: armSixteen, server: s.many.server, etcd: s.many.etcd, batch: s.many.makeBatch(many)},
	}
	return s, nil
}
