// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/etcd3"
)

// Wrap makes a client, with its Kubernetes interface, use versions. Call Wrap before any other use.
func (m *Mapping) Wrap(c *clientv3.Client) {
	k := &kv{KV: c.KV, m: m}
	w := &watcher{Watcher: c.Watcher, kv: k, closed: make(chan struct{})}
	k.watcher = w
	c.KV, c.Watcher = k, w
}

// Compactor makes inner, the compactor of an unwrapped client, report versions.
func Compactor(inner etcd3.Compactor) etcd3.Compactor { return compactor{inner} }

type compactor struct{ etcd3.Compactor }

func (c compactor) CompactRevision() int64 { return Version(c.Compactor.CompactRevision(), Last) }

type kv struct {
	clientv3.KV
	m       *Mapping
	watcher *watcher
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

func (k *kv) Compact(ctx context.Context, version int64, opts ...clientv3.CompactOption) (*clientv3.CompactResponse, error) {
	r, err := k.KV.Compact(ctx, wholeRevision(version), opts...)
	if err == nil {
		mapHeader(r.Header)
	}
	return r, err
}

// Do is clientv3's Do with versions. For a read at a version inside a revision, Do needs further requests (readInside).
func (k *kv) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if op.IsTxn() {
		// Transactions have compares to map, too.
		cmps, then, orelse := op.Txn()
		r, err := k.Txn(ctx).If(cmps...).Then(then...).Else(orelse...).Commit()
		if err != nil {
			return clientv3.OpResponse{}, err
		}
		return r.OpResponse(), nil
	}

	if op.IsGet() && k.readsInside(op) {
		r, err := k.readInside(ctx, op)
		if err != nil {
			return clientv3.OpResponse{}, err
		}
		return r.OpResponse(), nil
	}

	// Versions to revisions.
	ops := []clientv3.Op{op}
	if _, err := k.mapBranch(ops, nil); err != nil {
		return clientv3.OpResponse{}, err
	}
	r, err := k.KV.Do(ctx, ops[0])
	if err != nil {
		return r, err
	}

	// Revisions to versions, in the header and in each key.
	switch {
	case r.Get() != nil:
		mapHeader(r.Get().Header)
		k.m.mapKVs(r.Get().Kvs)
	case r.Put() != nil:
		mapHeader(r.Put().Header)
		// -1 takes the sub-revision stored in the value.
		k.m.mapKV(r.Put().PrevKv, -1)
	case r.Del() != nil:
		mapHeader(r.Del().Header)
		k.m.mapKVs(r.Del().PrevKvs)
	}

	return r, nil
}

// GetStream is clientv3's GetStream with versions. The caller reads the channel to the end, or ends ctx.
func (k *kv) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	op := clientv3.OpGet(key, opts...)
	if k.readsInside(op) {
		// Put together from two reads, the answer is a stream of a single response.
		r, err := k.readInside(ctx, op)
		if err != nil {
			return nil, err
		}
		out := make(chan clientv3.RangeStreamResponse, 1)
		out <- clientv3.RangeStreamResponse{RangeResponse: (*etcdserverpb.RangeResponse)(r)}
		close(out)
		return out, nil
	}

	if hasFilters(op) {
		return nil, errFilter
	}
	ops := []clientv3.Op{op}
	if _, err := k.mapBranch(ops, nil); err != nil {
		return nil, err
	}

	// A copy of opts, as the caller may use the slice again.
	in, err := k.KV.GetStream(ctx, key, append(opts[:len(opts):len(opts)], clientv3.WithRev(ops[0].Rev()))...)
	if err != nil {
		return nil, err
	}
	out := make(chan clientv3.RangeStreamResponse, 1)
	go func() {
		defer close(out)
		for r := range in {
			if r.RangeResponse != nil {
				mapHeader(r.Header)
				k.m.mapKVs(r.Kvs)
			}
			select {
			case out <- r:
			case <-ctx.Done():
				for range in { // the sender ignores ctx
				}
				return
			}
		}
	}()

	return out, nil
}

func (k *kv) readsInside(op clientv3.Op) bool {
	if revision, _ := Split(op.Rev()); !isInside(op.Rev()) || revision < 2 { // revision 1 is empty
		return false
	}
	touched, _ := k.m.resourcesIn(spanOf(op))
	return len(touched) > 0
}

// mapBranch maps the operations of a transaction's branch in place, and returns the sub-revisions of the writes, by
// index. The compares tell which keys exist.
func (k *kv) mapBranch(ops []clientv3.Op, cmps []clientv3.Cmp) (subs []int64, err error) {
	if subs, err = k.m.numberWrites(ops, func(key string) bool { return comparesPresent(cmps, key) }); err != nil {
		return nil, err
	}

	for i := range ops {
		op := &ops[i]
		switch {
		case op.IsTxn():
			cmps, then, orelse := op.Txn()
			// Nested transactions write no objects (numberWrites), yet may read some.
			t := &txn{kv: k, cmps: cmps, then: slices.Clone(then), orelse: slices.Clone(orelse)}
			if err := t.mapTxn(); err != nil {
				return nil, err
			}
			*op = clientv3.OpTxn(t.cmps, t.then, t.orelse)
		case op.IsGet():
			if err := k.m.mapFilters(op); err != nil {
				return nil, err
			}
			if k.readsInside(*op) {
				return nil, fmt.Errorf("%s: a transaction does not read objects at a version inside a revision", op.KeyBytes())
			}
			if op.Rev() > 0 {
				// The last revision without a write after the version.
				clientv3.WithRev(max(1, wholeRevision(op.Rev())))(op) // 0 would be the latest
			}
		}
	}

	return subs, nil
}

// mapFilters maps the bounds of modification and creation versions of a read of other keys than objects. For objects
// the error is errFilter: a bound inside a revision would need the value of each key.
func (m *Mapping) mapFilters(op *clientv3.Op) error {
	if touched, _ := m.resourcesIn(spanOf(*op)); hasFilters(*op) && len(touched) > 0 {
		return errFilter
	}
	clientv3.WithMinModRev(op.MinModRev() / Objects)(op)
	clientv3.WithMinCreateRev(op.MinCreateRev() / Objects)(op)
	// 0 would be no limit; revision 1 has no writes.
	if version := op.MaxModRev(); version != 0 {
		clientv3.WithMaxModRev(max(1, wholeRevision(version)))(op)
	}
	if version := op.MaxCreateRev(); version != 0 {
		clientv3.WithMaxCreateRev(max(1, wholeRevision(version)))(op)
	}
	return nil
}

func hasFilters(op clientv3.Op) bool {
	return op.MinModRev() != 0 || op.MinCreateRev() != 0 || op.MaxModRev() != 0 || op.MaxCreateRev() != 0
}

func comparesPresent(cmps []clientv3.Cmp, key string) bool {
	for i := range cmps {
		// ModRevision = 0 compares for an absent key, so only a higher revision proves that the key exists.
		c := cmps[i].GetCompare()
		if string(c.Key) == key && len(c.RangeEnd) == 0 && c.Target == etcdserverpb.Compare_MOD && c.Result == etcdserverpb.Compare_EQUAL &&
			c.GetModRevision() > 0 {
			return true
		}
	}
	return false
}

func (k *kv) Txn(ctx context.Context) clientv3.Txn { return &txn{Txn: k.KV.Txn(ctx), kv: k} }

type txn struct {
	clientv3.Txn
	kv                 *kv
	cmps               []clientv3.Cmp
	then, orelse       []clientv3.Op
	thenSubs, elseSubs []int64 // sub-revisions
}

func (t *txn) If(cmps ...clientv3.Cmp) clientv3.Txn { t.cmps = append(t.cmps, cmps...); return t }
func (t *txn) Then(ops ...clientv3.Op) clientv3.Txn { t.then = append(t.then, ops...); return t }
func (t *txn) Else(ops ...clientv3.Op) clientv3.Txn { t.orelse = append(t.orelse, ops...); return t }

// Commit maps the transaction, sends it, and maps the answer of the branch that etcd has taken.
func (t *txn) Commit() (*clientv3.TxnResponse, error) {
	if err := t.mapTxn(); err != nil {
		return nil, err
	}
	r, err := t.Txn.If(t.cmps...).Then(t.then...).Else(t.orelse...).Commit()
	if err != nil {
		return nil, err
	}
	subs := t.elseSubs
	if r.Succeeded {
		subs = t.thenSubs
	}
	t.kv.m.mapAnswer((*etcdserverpb.TxnResponse)(r), subs)
	return r, nil
}

func (t *txn) mapTxn() (err error) {
	if t.cmps, err = t.kv.m.mapCompares(t.cmps); err != nil {
		return err
	}
	if t.thenSubs, err = t.kv.mapBranch(t.then, t.cmps); err != nil {
		return err
	}
	t.elseSubs, err = t.kv.mapBranch(t.orelse, nil)
	return err
}

// mapCompares replaces the versions in a transaction's compares by etcd's revisions: version 1407, for example, is
// sub-revision 127 of revision 10. Equality stays exact, because a key has a single version in a revision. An ordered
// compare with a version inside a revision is an error.
func (m *Mapping) mapCompares(cmps []clientv3.Cmp) ([]clientv3.Cmp, error) {
	out := make([]clientv3.Cmp, len(cmps))
	for i := range cmps {
		// A copy: a caller may send the same compares again after a conflict.
		c := out[i].GetCompare()
		asked := cmps[i].GetCompare()
		c.Result, c.Target, c.Key, c.TargetUnion, c.RangeEnd = asked.Result, asked.Target, asked.Key, asked.TargetUnion, asked.RangeEnd
		version := c.GetModRevision()
		switch c.Target {
		case etcdserverpb.Compare_VALUE:
			if touched, _ := m.resourcesIn(makeSpan(string(c.Key), string(c.RangeEnd))); len(touched) > 0 {
				return nil, fmt.Errorf("%s: the value of an object is not compared, since it may have an octet; compare its version", c.Key)
			}
			continue
		case etcdserverpb.Compare_MOD:
			// The usual compare of an object's resourceVersion.
		case etcdserverpb.Compare_CREATE:
			version = c.GetCreateRevision()
		default:
			continue
		}

		// Only compares with the same result for versions and revisions pass.
		revision, sub := Split(version)
		equality := c.Result == etcdserverpb.Compare_EQUAL || c.Result == etcdserverpb.Compare_NOT_EQUAL
		switch {
		case version == 1 && c.Result == etcdserverpb.Compare_LESS: // an absent key has version 0, and end 1
			revision = 1
		case revision == 0 && version != 0: // the revision of an absent key
			return nil, fmt.Errorf("%s is compared with %d, which is the version of no write", c.Key, version)
		case equality, c.Result == etcdserverpb.Compare_LESS && version > 0 && sub == 0, c.Result == etcdserverpb.Compare_GREATER &&
			(version == 0 || sub == Last):
		default:
			return nil, fmt.Errorf("%s has no order against version %d, which is inside a revision; "+
				"compare < its revision's last version + 1, or > its last version", c.Key, version)
		}

		if c.Target == etcdserverpb.Compare_MOD {
			c.TargetUnion = &etcdserverpb.Compare_ModRevision{ModRevision: revision}
		} else {
			c.TargetUnion = &etcdserverpb.Compare_CreateRevision{CreateRevision: revision}
		}
	}

	return out, nil
}

// mapAnswer replaces the revisions in a transaction's response by versions. Each write's header gets the write's
// version (subs, nil if the branch wrote no objects).
func (m *Mapping) mapAnswer(r *etcdserverpb.TxnResponse, subs []int64) {
	revision := r.Header.GetRevision()
	mapHeader(r.Header)
	own := func(i int) *etcdserverpb.ResponseHeader {
		sub := int64(Last)
		if subs != nil {
			sub = subs[i]
		}
		return &etcdserverpb.ResponseHeader{Revision: Version(revision, sub)}
	}

	for i, response := range r.Responses {
		switch {
		case response.GetResponseRange() != nil:
			mapHeader(response.GetResponseRange().Header)
			m.mapKVs(response.GetResponseRange().Kvs)
		case response.GetResponsePut() != nil:
			response.GetResponsePut().Header = own(i)
			m.mapKV(response.GetResponsePut().PrevKv, -1)
		case response.GetResponseDeleteRange() != nil:
			response.GetResponseDeleteRange().Header = own(i)
			m.mapKVs(response.GetResponseDeleteRange().PrevKvs)
		case response.GetResponseTxn() != nil:
			response.GetResponseTxn().Header = &etcdserverpb.ResponseHeader{Revision: revision}
			m.mapAnswer(response.GetResponseTxn(), nil)
		}
	}
}
