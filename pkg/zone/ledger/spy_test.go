// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger"
)

// spiedTxn is a transaction that send commits, or answers in etcd's place.
type spiedTxn struct {
	clientv3.Txn
	ctx          context.Context
	then, orelse []clientv3.Op
	send         sendFunc
}

type sendFunc func(*spiedTxn) (*clientv3.TxnResponse, error)

func (x *spiedTxn) If(cmps ...clientv3.Cmp) clientv3.Txn {
	x.Txn = x.Txn.If(cmps...)
	return x
}

func (x *spiedTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	x.Txn, x.then = x.Txn.Then(ops...), ops
	return x
}

func (x *spiedTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	x.Txn, x.orelse = x.Txn.Else(ops...), ops
	return x
}

func (x *spiedTxn) Commit() (*clientv3.TxnResponse, error) { return x.send(x) }

func (x *spiedTxn) hasWrites() bool {
	return slices.ContainsFunc(x.then, func(op clientv3.Op) bool { return op.IsPut() || op.IsDelete() })
}

// spiedKV gives each transaction to send.
type spiedKV struct {
	clientv3.KV
	send sendFunc
}

func (k spiedKV) Txn(ctx context.Context) clientv3.Txn {
	return &spiedTxn{Txn: k.KV.Txn(ctx), ctx: ctx, send: k.send}
}

// replaceKV changes the connection of the ledger, but not that of the server's storage.
func replaceKV(change func(clientv3.KV) clientv3.KV) func(*ledger.Config) {
	return func(c *ledger.Config) {
		client := clientv3.NewCtxClient(c.Client.Ctx())
		client.KV, client.Lease, client.Watcher = change(c.Client.KV), c.Client.Lease, c.Client.Watcher
		c.Client = client
	}
}

func spyOn(send sendFunc) func(*ledger.Config) {
	return replaceKV(func(kv clientv3.KV) clientv3.KV { return spiedKV{kv, send} })
}
