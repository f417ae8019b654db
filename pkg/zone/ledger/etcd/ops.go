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

	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// The constructors below avoid clientv3's copies and reflection.

// OpPut returns a put of value, which the caller must not change afterwards.
func OpPut(key string, value []byte) clientv3.Op {
	op := clientv3.OpPut(key, "")
	op.WithValueBytes(value)
	return op
}

// RevisionIs returns a compare that holds if the key has the mod revision rev, or is absent for a rev of 0.
func RevisionIs(key string, rev int64) clientv3.Cmp {
	var c clientv3.Cmp
	p := c.GetCompare()
	p.Key, p.Target, p.Result = []byte(key), etcdserverpb.Compare_MOD, etcdserverpb.Compare_EQUAL
	p.TargetUnion = &etcdserverpb.Compare_ModRevision{ModRevision: rev}
	return c
}

func Versions(responses []*etcdserverpb.ResponseOp) []int64 {
	all := make([]int64, len(responses))
	for i, r := range responses { // one of both is nil
		all[i] = max(r.GetResponsePut().GetHeader().GetRevision(), r.GetResponseDeleteRange().GetHeader().GetRevision())
	}
	return all
}

// Puts holds a transaction's writes besides objects and the zone's keys, at most one for each key.
type Puts []KeyValue

// KeyValue is a put or, if Gone is set, the deletion of a key.
type KeyValue struct {
	Key   string
	Value []byte
	Gone  bool
}

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

// OpCount makes a transaction of compares linearizable: without operations, etcd answers from a member's own state,
// which may lag.
func OpCount(key string) clientv3.Op { return clientv3.OpGet(key, clientv3.WithCountOnly()) }

// ReadKey returns a key and the revision of the read. The key is nil if absent. The call fails while etcd is
// unavailable, because transactions, unlike gets, do not wait.
func ReadKey(ctx context.Context, client *clientv3.Client, key string) (kv *mvccpb.KeyValue, rev int64, err error) {
	r, err := client.Txn(ctx).Then(clientv3.OpGet(key)).Commit()
	if err != nil {
		return nil, 0, err
	}
	return FirstKV(r.Responses[0]), r.Header.Revision, nil
}

// IsRefused reports whether etcd refused the request itself. Nothing was written, and no retry can succeed.
func IsRefused(err error) bool {
	return errors.Is(err, rpctypes.ErrTooManyOps) || errors.Is(err, rpctypes.ErrDuplicateKey) || TooLarge(err)
}

// TooLarge reports whether etcd or its connection refused a request for its size. Nothing was written.
func TooLarge(err error) bool {
	return errors.Is(err, rpctypes.ErrRequestTooLarge) || grpcstatus.Code(err) == codes.ResourceExhausted &&
		strings.Contains(err.Error(), "larger than max")
}

func FirstKV(r *etcdserverpb.ResponseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().Kvs; len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

func FirstKVs(responses []*etcdserverpb.ResponseOp) (all []*mvccpb.KeyValue) {
	for _, r := range responses {
		all = append(all, FirstKV(r))
	}
	return all
}

func NewID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
