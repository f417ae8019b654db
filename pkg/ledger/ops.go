// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Operations and compares of which a write has a dozen. The client's own constructors copy the value, and each compare
// by reflection.

// opPut is the operation that writes value, which nobody changes from here on.
func opPut(key string, value []byte) clientv3.Op {
	op := clientv3.OpPut(key, "")
	op.WithValueBytes(value)
	return op
}

// revisionIs holds when the key was last written at rev; 0: when it does not exist.
func revisionIs(key string, rev int64) clientv3.Cmp {
	var c clientv3.Cmp
	p := c.GetCompare()
	p.Key, p.Target, p.Result = []byte(key), etcdserverpb.Compare_MOD, etcdserverpb.Compare_EQUAL
	p.TargetUnion = &etcdserverpb.Compare_ModRevision{ModRevision: rev}
	return c
}

// versionAt is that of what the i-th operation of a transaction put or deleted.
func versionAt(r *clientv3.TxnResponse, i int) int64 {
	if put := r.Responses[i].GetResponsePut(); put != nil {
		return put.Header.Revision
	}
	return r.Responses[i].GetResponseDeleteRange().Header.Revision
}

// absent holds when the key does not exist.
func absent(key string) clientv3.Cmp {
	var c clientv3.Cmp
	p := c.GetCompare()
	p.Key, p.Target, p.Result = []byte(key), etcdserverpb.Compare_CREATE, etcdserverpb.Compare_EQUAL
	p.TargetUnion = &etcdserverpb.Compare_CreateRevision{}
	return c
}
