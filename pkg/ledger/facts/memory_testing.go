// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
)

// Functions for tests of the ledger.

// Remembered is how many facts are remembered of a zone.
func (mem *Memory) Remembered(zone string) int {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	return len(mem.Head(zone).Facts)
}

// Knows reports whether a zone is known to have the name.
func (mem *Memory) Knows(view string, n name.Name) bool {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	return mem.index[law.HoldingKey(view, n)] != nil
}

// HasHead reports whether anything is known of a zone. The caller holds Memory.Mu.
func (mem *Memory) HasHead(zone string) bool { return mem.heads[zone] != nil }

// LetGo lets go of what is known of a zone, as another zone's coming does.
func (mem *Memory) LetGo(zone string) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	mem.letGo(mem.Head(zone))
}

// Doubted is how many names are read before they are believed.
func (mem *Memory) Doubted() int {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	return len(mem.doubt)
}

// Stands reports whether a zone is known to stand.
func (mem *Memory) Stands(zone string) bool {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	h := mem.Head(zone)
	return h.Loaded && h.Zone != nil
}

// TakeLate reads a fact with its zone, and takes it in after meanwhile.
func (mem *Memory) TakeLate(ctx context.Context, zone string, k law.Key, meanwhile func()) error {
	s := mem.Session(false)
	r, err := mem.Client.Txn(ctx).Then(mem.getOperation(k), clientv3.OpGet(zone)).Commit()
	if err != nil {
		return err
	}
	meanwhile()
	return s.takeAnswer(ctx, k, r.Responses[0], r.Header.Revision, etcd.ModRevision(etcd.One(r.Responses[1])))
}

// ReloadLate reads a zone, and takes it in after meanwhile.
func (mem *Memory) ReloadLate(ctx context.Context, zone string, meanwhile func()) error {
	kv, rev, err := etcd.ReadKey(ctx, mem.Client, zone)
	if err != nil {
		return err
	}
	mem.Mu.Lock()
	h := mem.Head(zone)
	mem.Mu.Unlock()
	meanwhile()
	return mem.Reload(ctx, h, kv, rev)
}
