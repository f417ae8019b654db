// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import "context"

// NewPlain is New with nothing between the generic registry and etcd: the same API, types, watch caches and clients,
// but objects that are in no zone. Benchmarks compare with it what the ledger costs. A1 does not hold of such a
// server, so no command makes one, and what it stored is nothing that New may be given.
func NewPlain(ctx context.Context, cfg Config) (*Server, error) {
	cfg.plain = true
	return New(ctx, cfg)
}
