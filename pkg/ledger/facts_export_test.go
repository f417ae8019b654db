// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/law"
)

// TakeLate reads a fact of a zone as a decision does, and takes it in after what is done meanwhile.
func (l *Ledger) TakeLate(ctx context.Context, zone string, k law.Key, meanwhile func()) error {
	s := l.mem.session(false)
	r, err := l.mem.client.Txn(ctx).Then(l.mem.get(k), clientv3.OpGet(zone)).Commit()
	if err != nil {
		return err
	}
	meanwhile()
	return s.take(ctx, k, r.Responses[0], r.Header.Revision, modRevision(one(r.Responses[1])))
}

// ReloadLate reads a zone, and has it remembered after what is done meanwhile.
func (l *Ledger) ReloadLate(ctx context.Context, zone string, meanwhile func()) error {
	r, err := l.mem.client.Get(ctx, zone)
	if err != nil {
		return err
	}
	l.mem.mu.Lock()
	h := l.mem.head(zone)
	l.mem.mu.Unlock()
	meanwhile()
	var kv *mvccpb.KeyValue
	if len(r.Kvs) > 0 {
		kv = r.Kvs[0]
	}
	return l.mem.reload(ctx, h, kv, r.Header.Revision)
}

// Doubted is how many names are read before they are believed.
func (l *Ledger) Doubted() int {
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	return len(l.mem.doubt)
}

// Stands: the ledger remembers the zone, and that it stands.
func (l *Ledger) Stands(namespace, zone string) bool {
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	h := l.mem.head(l.mem.layout.Zone(namespace, zone))
	return h.loaded && h.zone != nil
}

// TooManyFacts is the refusal of a write that takes more compares than a transaction has room for.
func TooManyFacts(seen *law.Seen, facts int) error {
	return tooManyFacts(&write{resource: "records", name: "r"}, seen, facts)
}
