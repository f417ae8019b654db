// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package encryption

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

type kv struct {
	clientv3.KV
	values *values
}

func (k *kv) Put(ctx context.Context, key, val string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	r, err := k.Do(ctx, clientv3.OpPut(key, val, opts...))
	return r.Put(), err
}

func (k *kv) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	r, err := k.Do(ctx, clientv3.OpGet(key, opts...))
	return r.Get(), err
}

func (k *kv) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	r, err := k.Do(ctx, clientv3.OpDelete(key, opts...))
	return r.Del(), err
}

// GetStream fails for encrypted values, because a stream cannot report a failed decryption.
func (k *kv) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	op := clientv3.OpGet(key, opts...)
	if k.values.cover(key) || key <= k.values.prefix && string(op.RangeBytes()) > k.values.prefix {
		return nil, errors.New("an encrypted store is not read as a stream: read page by page")
	}
	return k.KV.GetStream(ctx, key, opts...)
}

// Do encrypts the values of op, and decrypts those of the response. If a value does not decrypt, the caller gets no
// response, although a write has happened.
func (k *kv) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	ops, err := k.values.encryptOps(op)
	if err != nil {
		return clientv3.OpResponse{}, err
	}
	r, err := k.KV.Do(ctx, ops[0])
	if err != nil {
		return r, err
	}

	// Puts and deletions return former values only if asked for.
	switch {
	case r.Get() != nil:
		err = k.values.decryptAll(r.Get().Kvs)
	case r.Put() != nil:
		err = k.values.decryptValue(r.Put().PrevKv)
	case r.Del() != nil:
		err = k.values.decryptAll(r.Del().PrevKvs)
	case r.Txn() != nil:
		err = k.values.decryptResponses(r.Txn().Responses)
	}
	if err != nil {
		return clientv3.OpResponse{}, err
	}

	return r, nil
}

func (k *kv) Txn(ctx context.Context) clientv3.Txn {
	return &txn{Txn: k.KV.Txn(ctx), values: k.values}
}

type txn struct {
	clientv3.Txn
	values *values
	err    error
}

func (t *txn) If(cmps ...clientv3.Cmp) clientv3.Txn {
	t.Txn, t.err = t.Txn.If(cmps...), errors.Join(t.err, t.values.checkCompares(cmps))
	return t
}

func (t *txn) Then(ops ...clientv3.Op) clientv3.Txn {
	encrypted, err := t.values.encryptOps(ops...)
	t.Txn, t.err = t.Txn.Then(encrypted...), errors.Join(t.err, err)
	return t
}

func (t *txn) Else(ops ...clientv3.Op) clientv3.Txn {
	encrypted, err := t.values.encryptOps(ops...)
	t.Txn, t.err = t.Txn.Else(encrypted...), errors.Join(t.err, err)
	return t
}

func (t *txn) Commit() (*clientv3.TxnResponse, error) {
	if t.err != nil {
		return nil, t.err
	}
	r, err := t.Txn.Commit()
	if err == nil {
		err = t.values.decryptResponses(r.Responses)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// encryptOps returns copies of ops with encrypted values, in nested transactions too. A compare of an encrypted value
// is an error.
func (v *values) encryptOps(ops ...clientv3.Op) ([]clientv3.Op, error) {
	out := make([]clientv3.Op, len(ops))
	for i, op := range ops {
		// Gets and deletions have no value, and keys stay readable for ranges.
		switch {
		case op.IsTxn():
			cmps, then, orelse := op.Txn()
			then, errThen := v.encryptOps(then...)
			orelse, errElse := v.encryptOps(orelse...)
			if err := errors.Join(v.checkCompares(cmps), errThen, errElse); err != nil {
				return nil, err
			}
			op = clientv3.OpTxn(cmps, then, orelse)
		case op.IsPut() && v.cover(string(op.KeyBytes())):
			op.WithValueBytes(v.encryptValue(op.KeyBytes(), op.ValueBytes()))
		}
		out[i] = op
	}
	return out, nil
}

func (v *values) checkCompares(cmps []clientv3.Cmp) error {
	for i := range cmps {
		if c := cmps[i].GetCompare(); c.Target == etcdserverpb.Compare_VALUE && v.cover(string(c.Key)) {
			return fmt.Errorf("the encrypted value of %q cannot be compared: the same one looks different each time it is written", c.Key)
		}
	}
	return nil
}

func (v *values) decryptResponses(all []*etcdserverpb.ResponseOp) error {
	for _, r := range all {
		if err := errors.Join(
			v.decryptAll(r.GetResponseRange().GetKvs()), v.decryptValue(r.GetResponsePut().GetPrevKv()),
			v.decryptAll(r.GetResponseDeleteRange().GetPrevKvs()), v.decryptResponses(r.GetResponseTxn().GetResponses()),
		); err != nil {
			return err
		}
	}
	return nil
}
