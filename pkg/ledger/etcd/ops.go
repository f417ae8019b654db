// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"kubi.zone/kubizone/pkg/ledger/layout"
)

// The constructors below avoid clientv3's copy and reflection.

// OpPut puts value, which the caller must not change afterwards.
func OpPut(key string, value []byte) clientv3.Op {
	op := clientv3.OpPut(key, "")
	op.WithValueBytes(value)
	return op
}

// RevisionIs holds if the key's mod revision is rev, 0 for an absent key.
func RevisionIs(key string, rev int64) clientv3.Cmp {
	var c clientv3.Cmp
	p := c.GetCompare()
	p.Key, p.Target, p.Result = []byte(key), etcdserverpb.Compare_MOD, etcdserverpb.Compare_EQUAL
	p.TargetUnion = &etcdserverpb.Compare_ModRevision{ModRevision: rev}
	return c
}

// VersionAt returns the version (package subrev) of the put or delete at index i.
func VersionAt(r *clientv3.TxnResponse, i int) int64 {
	if put := r.Responses[i].GetResponsePut(); put != nil {
		return put.Header.Revision
	}
	return r.Responses[i].GetResponseDeleteRange().Header.Revision
}

// Puts are a transaction's writes besides objects and the zone's keys, each key once.
type Puts []KeyValue

// KeyValue is a put, or the deletion of the key if Gone.
type KeyValue struct {
	Key   string
	Value []byte
	Gone  bool
}

// Add appends a write, or replaces the key's earlier one.
func (p *Puts) Add(x KeyValue) {
	for i := range *p {
		if (*p)[i].Key == x.Key {
			(*p)[i] = x
			return
		}
	}
	*p = append(*p, x)
}

func (p *Puts) Set(key string, v any) { p.Add(KeyValue{Key: key, Value: layout.Encode(v)}) }

func (p *Puts) Del(key string) { p.Add(KeyValue{Key: key, Gone: true}) }

func (p Puts) Ops() []clientv3.Op {
	ops := make([]clientv3.Op, 0, len(p))
	for _, x := range p {
		if x.Gone {
			ops = append(ops, clientv3.OpDelete(x.Key))
		} else {
			ops = append(ops, OpPut(x.Key, x.Value))
		}
	}
	return ops
}

// OpCount makes a transaction of compares a linearizable read: etcd answers a transaction without operations from a
// member's own state, which may lag.
func OpCount(key string) clientv3.Op { return clientv3.OpGet(key, clientv3.WithCountOnly()) }

// ReadKey returns a key, nil if absent, and the read's revision. It fails while etcd is unavailable: transactions,
// unlike gets, do not wait.
func ReadKey(ctx context.Context, client *clientv3.Client, key string) (kv *mvccpb.KeyValue, rev int64, err error) {
	r, err := client.Txn(ctx).Then(clientv3.OpGet(key)).Commit()
	if err != nil {
		return nil, 0, err
	}
	return FirstKV(r.Responses[0]), r.Header.Revision, nil
}

// IsRefused reports whether etcd refused the request itself: nothing was written, and no attempt succeeds.
func IsRefused(err error) bool {
	return errors.Is(err, rpctypes.ErrTooManyOps) || errors.Is(err, rpctypes.ErrDuplicateKey) || TooLarge(err)
}

// TooLarge reports whether etcd or its connection refused a request for its size: nothing was written.
func TooLarge(err error) bool {
	return errors.Is(err, rpctypes.ErrRequestTooLarge) || grpcstatus.Code(err) == codes.ResourceExhausted &&
		strings.Contains(err.Error(), "larger than max")
}

// FirstKV returns the first key of a get's response, nil if none.
func FirstKV(r *etcdserverpb.ResponseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().Kvs; len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// NewID returns a random id of 24 hexadecimal digits.
func NewID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
