// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
)

// What tests of the ledger ask of it.

// Remembered is how many facts are remembered of a zone.
func (mem *memory) Remembered(zone string) int {
	mem.mu.Lock()
	defer mem.mu.Unlock()
	return len(mem.head(zone).facts)
}

// Knows reports whether a zone is known to have the name.
func (mem *memory) Knows(view string, n name.Name) bool {
	mem.mu.Lock()
	defer mem.mu.Unlock()
	return mem.index[law.HoldingKey(view, n)] != nil
}

// Doubted is how many names are read before they are believed.
func (mem *memory) Doubted() int {
	mem.mu.Lock()
	defer mem.mu.Unlock()
	return len(mem.doubt)
}

// Stands reports whether a zone is known to stand.
func (mem *memory) Stands(zone string) bool {
	mem.mu.Lock()
	defer mem.mu.Unlock()
	h := mem.head(zone)
	return h.loaded && h.zone != nil
}

// TakeLate reads a fact with its zone, and takes it in after meanwhile.
func (mem *memory) TakeLate(ctx context.Context, zone string, k law.Key, meanwhile func()) error {
	s := mem.session(false)
	r, err := mem.client.Txn(ctx).Then(mem.get(k), clientv3.OpGet(zone)).Commit()
	if err != nil {
		return err
	}
	meanwhile()
	return s.take(ctx, k, r.Responses[0], r.Header.Revision, modRevision(one(r.Responses[1])))
}

// ReloadLate reads a zone, and takes it in after meanwhile.
func (mem *memory) ReloadLate(ctx context.Context, zone string, meanwhile func()) error {
	kv, rev, err := readKey(ctx, mem.client, zone)
	if err != nil {
		return err
	}
	mem.mu.Lock()
	h := mem.head(zone)
	mem.mu.Unlock()
	meanwhile()
	return mem.reload(ctx, h, kv, rev)
}
