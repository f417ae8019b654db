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

// Operations and compares of which a write has a dozen. The client's own constructors copy the value, and each compare
// by reflection.

// OpPut is the operation that writes value, which does not change from here on.
func OpPut(key string, value []byte) clientv3.Op {
	op := clientv3.OpPut(key, "")
	op.WithValueBytes(value)
	return op
}

// RevisionIs holds when the key was last written at rev; 0: when it does not exist.
func RevisionIs(key string, rev int64) clientv3.Cmp {
	var c clientv3.Cmp
	p := c.GetCompare()
	p.Key, p.Target, p.Result = []byte(key), etcdserverpb.Compare_MOD, etcdserverpb.Compare_EQUAL
	p.TargetUnion = &etcdserverpb.Compare_ModRevision{ModRevision: rev}
	return c
}

// VersionAt is that of what the i-th operation of a transaction put or deleted.
func VersionAt(r *clientv3.TxnResponse, i int) int64 {
	if put := r.Responses[i].GetResponsePut(); put != nil {
		return put.Header.Revision
	}
	return r.Responses[i].GetResponseDeleteRange().Header.Revision
}

// Absent holds when the key does not exist.
func Absent(key string) clientv3.Cmp {
	var c clientv3.Cmp
	p := c.GetCompare()
	p.Key, p.Target, p.Result = []byte(key), etcdserverpb.Compare_CREATE, etcdserverpb.Compare_EQUAL
	p.TargetUnion = &etcdserverpb.Compare_CreateRevision{}
	return c
}

// Puts are the writes of a transaction beside the objects and the zone's keys, the last of each key.
type Puts []KeyValue

// KeyValue is one write: a value for a key, or nothing any more.
type KeyValue struct {
	Key   string
	Value []byte
	Gone  bool
}

// Add takes a write in, in the place of one of the same key.
func (p *Puts) Add(x KeyValue) {
	for i := range *p {
		if (*p)[i].Key == x.Key {
			(*p)[i] = x
			return
		}
	}
	*p = append(*p, x)
}

// Set puts v, encoded, at a key.
func (p *Puts) Set(key string, v any) { p.Add(KeyValue{Key: key, Value: layout.Encode(v)}) }

// Del deletes a key.
func (p *Puts) Del(key string) { p.Add(KeyValue{Key: key, Gone: true}) }

// Ops are the operations of all of them.
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

// ReadKey returns what stands at a key, nil for nothing, and at which revision. It is a transaction, which does not
// wait for an etcd that is away.
func ReadKey(ctx context.Context, client *clientv3.Client, key string) (kv *mvccpb.KeyValue, rev int64, err error) {
	r, err := client.Txn(ctx).Then(clientv3.OpGet(key)).Commit()
	if err != nil {
		return nil, 0, err
	}
	return One(r.Responses[0]), r.Header.Revision, nil
}

// TooLarge reports whether an error says that etcd, or the connection to it, takes no request of so many octets, and
// that nothing was done.
func TooLarge(err error) bool {
	return errors.Is(err, rpctypes.ErrRequestTooLarge) || grpcstatus.Code(err) == codes.ResourceExhausted &&
		strings.Contains(err.Error(), "larger than max")
}

// One returns the value that a get of one key found, nil for none.
func One(r *etcdserverpb.ResponseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().Kvs; len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// ModRevision returns the revision at which a key was last written, 0 for nil.
func ModRevision(kv *mvccpb.KeyValue) int64 {
	if kv == nil {
		return 0
	}
	return kv.ModRevision
}

// NewID is a new id of a server or of an item of the outbox, 24 characters of hexadecimal.
func NewID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
