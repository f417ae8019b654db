// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Client returns a client whose KV and Watcher seal, and which has no other parts of a client. It lives as long as
// client and need not be closed.
func (s *Seal) Client(client *clientv3.Client) *clientv3.Client {
	c := clientv3.NewCtxClient(client.Ctx())
	c.KV, c.Watcher = s.KV(client.KV), s.Watcher(client.Watcher)
	return c
}

// KV seals what goes through inner. A sealed value cannot be compared, and names cannot be sorted by etcd: both are
// errors.
func (s *Seal) KV(inner clientv3.KV) clientv3.KV { return &kv{inner, s} }

type kv struct {
	clientv3.KV
	seal *Seal
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

// GetStream is refused where keys are sealed: a stream has keys in the order of etcd, which is another one. Elsewhere
// it is etcd's.
func (k *kv) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	op := clientv3.OpGet(key, opts...)
	end := string(op.RangeBytes())
	if k.seal.coversKey(key) || key <= k.seal.layout.Prefix && end > k.seal.layout.Prefix {
		return nil, errors.New("a sealed store is not read as a stream: read page by page")
	}
	return k.KV.GetStream(ctx, key, opts...)
}

func (k *kv) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	sealed, err := k.seal.sealOp(op)
	if err != nil {
		return clientv3.OpResponse{}, err
	}
	r, err := k.KV.Do(ctx, sealed)
	if err != nil {
		return r, err
	}
	switch {
	case r.Get() != nil:
		err = k.seal.openRange((*etcdserverpb.RangeResponse)(r.Get()), op)
	case r.Put() != nil:
		err = k.seal.openKV(r.Put().PrevKv)
	case r.Del() != nil:
		err = k.seal.openAll(r.Del().PrevKvs)
	case r.Txn() != nil:
		_, then, orelse := op.Txn()
		err = k.seal.openTxn((*etcdserverpb.TxnResponse)(r.Txn()), then, orelse)
	}
	if err != nil {
		return clientv3.OpResponse{}, err
	}
	return r, nil
}

func (k *kv) Txn(ctx context.Context) clientv3.Txn {
	return &txn{Txn: k.KV.Txn(ctx), seal: k.seal}
}

// txn keeps what cannot be sealed, for Commit to return the error.
type txn struct {
	clientv3.Txn
	seal         *Seal
	then, orelse []clientv3.Op
	err          error
}

func (t *txn) If(cmps ...clientv3.Cmp) clientv3.Txn {
	sealed, err := t.seal.sealCompares(cmps)
	t.Txn, t.err = t.Txn.If(sealed...), errors.Join(t.err, err)
	return t
}

func (t *txn) Then(ops ...clientv3.Op) clientv3.Txn {
	sealed, err := t.seal.sealOps(ops)
	t.Txn, t.then, t.err = t.Txn.Then(sealed...), ops, errors.Join(t.err, err)
	return t
}

func (t *txn) Else(ops ...clientv3.Op) clientv3.Txn {
	sealed, err := t.seal.sealOps(ops)
	t.Txn, t.orelse, t.err = t.Txn.Else(sealed...), ops, errors.Join(t.err, err)
	return t
}

func (t *txn) Commit() (*clientv3.TxnResponse, error) {
	if t.err != nil {
		return nil, t.err
	}
	r, err := t.Txn.Commit()
	if err != nil {
		return nil, err
	}
	if err := t.seal.openTxn((*etcdserverpb.TxnResponse)(r), t.then, t.orelse); err != nil {
		return nil, err
	}
	return r, nil
}

func (s *Seal) sealOps(ops []clientv3.Op) ([]clientv3.Op, error) {
	out := make([]clientv3.Op, len(ops))
	for i := range ops {
		var err error
		if out[i], err = s.sealOp(ops[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *Seal) sealOp(op clientv3.Op) (clientv3.Op, error) {
	if op.IsTxn() {
		cmps, then, orelse := op.Txn()
		sealedCmps, errCmps := s.sealCompares(cmps)
		sealedThen, errThen := s.sealOps(then)
		sealedElse, errElse := s.sealOps(orelse)
		return clientv3.OpTxn(sealedCmps, sealedThen, sealedElse), errors.Join(errCmps, errThen, errElse)
	}
	key := string(op.KeyBytes())
	from, end, err := s.sealRange(key, string(op.RangeBytes()))
	if err != nil {
		return op, err
	}
	op.WithKeyBytes([]byte(from))
	if end != "" {
		op.WithRangeBytes([]byte(end))
	}
	if op.IsPut() && s.coversKey(key) {
		op.WithValueBytes(s.sealValue(from, op.ValueBytes()))
	}
	return op, nil
}

func (s *Seal) sealCompares(cmps []clientv3.Cmp) ([]clientv3.Cmp, error) {
	out := make([]clientv3.Cmp, len(cmps))
	for i := range cmps {
		out[i] = cmps[i].Clone()
		c := out[i].GetCompare()
		key := string(c.Key)
		if c.Target == etcdserverpb.Compare_VALUE && s.coversKey(key) {
			return nil, fmt.Errorf("the sealed value of %q cannot be compared: the same one looks different each time it is written", key)
		}
		from, end, err := s.sealRange(key, string(c.RangeEnd))
		if err != nil {
			return nil, err
		}
		c.Key = []byte(from)
		if end != "" {
			c.RangeEnd = []byte(end)
		}
	}
	return out, nil
}

// openTxn opens the answer to a transaction of these operations.
func (s *Seal) openTxn(r *etcdserverpb.TxnResponse, then, orelse []clientv3.Op) error {
	ops := orelse
	if r.Succeeded {
		ops = then
	}
	for i, one := range r.Responses {
		var err error
		switch {
		case one.GetResponseRange() != nil:
			err = s.openRange(one.GetResponseRange(), ops[i])
		case one.GetResponsePut() != nil:
			err = s.openKV(one.GetResponsePut().PrevKv)
		case one.GetResponseDeleteRange() != nil:
			err = s.openAll(one.GetResponseDeleteRange().PrevKvs)
		case one.GetResponseTxn() != nil:
			_, then, orelse := ops[i].Txn()
			err = s.openTxn(one.GetResponseTxn(), then, orelse)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openRange opens the answer to one get. A whole range is put in the order of the caller's keys. A page is not, since
// the next page begins behind its last key.
func (s *Seal) openRange(r *etcdserverpb.RangeResponse, op clientv3.Op) error {
	if s.names != nil && op.IsSortSet() {
		for _, kv := range r.Kvs {
			if _, _, _, inside := s.splitKey(string(kv.Key)); inside {
				return fmt.Errorf("etcd cannot sort the sealed names at %q", op.KeyBytes())
			}
		}
	}
	if err := s.openAll(r.Kvs); err != nil {
		return err
	}
	if s.names != nil && !op.IsSortSet() && op.Limit() == 0 {
		slices.SortFunc(r.Kvs, func(x, y *mvccpb.KeyValue) int { return bytes.Compare(x.Key, y.Key) })
	}
	return nil
}

func (s *Seal) openAll(kvs []*mvccpb.KeyValue) error {
	for _, kv := range kvs {
		if err := s.openKV(kv); err != nil {
			return err
		}
	}
	return nil
}

// openKV turns a key and value of etcd into what the caller stored. A value that was not asked for, or has gone, is
// empty; a sealed one never is.
func (s *Seal) openKV(kv *mvccpb.KeyValue) error {
	if kv == nil || !s.coversKey(string(kv.Key)) {
		return nil
	}
	stored := string(kv.Key)
	key, err := s.openKey(stored)
	if err != nil {
		return err
	}
	kv.Key = []byte(key)
	if len(kv.Value) == 0 {
		return nil
	}
	if kv.Value, err = s.openValue(stored, kv.Value); err != nil {
		return fmt.Errorf("the value of %s does not decrypt (%w): it was changed in etcd, or moved there from another key or store; restore a backup", key, err)
	}
	return nil
}
