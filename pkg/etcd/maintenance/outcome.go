// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/raft/v3"
	"google.golang.org/grpc/status"
)

// Answers get lost though etcd is healthy: a leader that hands over or ends drops forwarded writes silently.
//
// A write that compares the revision of a key it writes is then sent again. If the first copy changed that revision,
// the second copy is rejected, and the keys show the outcome.

const (
	// An unanswered write is sent again after resendAfter, and once more after twice that: a slow etcd must not get
	// more.
	resendAfter = time.Second
	repeatPause = 50 * time.Millisecond
	maxProbes   = 100
)

var errSlow = errors.New("no answer within " + resendAfter.String())

type explainedTxn struct {
	kv           clientv3.KV
	parent       context.Context
	cmps         []clientv3.Cmp
	then, orelse []clientv3.Op
}

func (t *explainedTxn) If(cmps ...clientv3.Cmp) clientv3.Txn { t.cmps = cmps; return t }
func (t *explainedTxn) Then(ops ...clientv3.Op) clientv3.Txn { t.then = ops; return t }
func (t *explainedTxn) Else(ops ...clientv3.Op) clientv3.Txn { t.orelse = ops; return t }

func (t *explainedTxn) Commit() (*clientv3.TxnResponse, error) {
	ctx, done := context.WithTimeoutCause(t.parent, txnTimeout, errUnanswered)
	defer done()
	var response *clientv3.TxnResponse
	var err error
	if hasWrites(t.then) || hasWrites(t.orelse) {
		response, err = t.sendWrite(ctx)
	} else {
		response, err = t.sendRead(ctx, t.cmps, t.then, t.orelse)
	}
	return response, explainUnknown(ctx, explainNoSpace(err))
}

func (t *explainedTxn) sendOnce(ctx context.Context, cmps []clientv3.Cmp, then, orelse []clientv3.Op) (*clientv3.TxnResponse,
	error) {
	return t.kv.Txn(ctx).If(cmps...).Then(then...).Else(orelse...).Commit()
}

func (t *explainedTxn) sendRead(ctx context.Context, cmps []clientv3.Cmp, then, orelse []clientv3.Op) (*clientv3.TxnResponse,
	error) {
	for {
		response, err := t.sendOnce(ctx, cmps, then, orelse)
		if !isUnanswered(err) || !waitToResend(ctx) {
			return response, err
		}
	}
}

func (t *explainedTxn) sendWrite(ctx context.Context) (*clientv3.TxnResponse, error) {
	again := t.isResendable()
	var doubt error // nil while no copy is in doubt
	for timeout := resendAfter; ; {
		trying, end := ctx, context.CancelFunc(func() {})
		if again {
			trying, end = context.WithTimeout(ctx, timeout)
		}
		response, err := t.sendOnce(trying, t.cmps, t.then, t.orelse)
		late := trying.Err() != nil && ctx.Err() == nil
		end()
		switch {
		case err == nil && (response.Succeeded || doubt == nil):
			return response, nil
		case err == nil:
			return t.findOutcome(ctx, response, doubt)
		case isProposalDropped(err): // certainly not carried out
		case again && (late || isUnanswered(err)):
			if late {
				err, timeout = errSlow, 2*timeout
			}
			if doubt == nil {
				doubt = err
			}
		case doubt != nil:
			return nil, doubt
		default:
			return nil, err
		}
		if !late && !waitToResend(ctx) {
			return nil, cmp.Or(doubt, err)
		}
	}
}

func revisionIn(cmp clientv3.Cmp) int64 {
	c := cmp.GetCompare()
	if c.Target != etcdserverpb.Compare_MOD || c.Result != etcdserverpb.Compare_EQUAL || len(c.RangeEnd) > 0 {
		return 0
	}
	return c.GetModRevision()
}

func (t *explainedTxn) isResendable() bool {
	if hasWrites(t.orelse) || slices.ContainsFunc(t.then, func(op clientv3.Op) bool {
		return !op.IsPut() && !op.IsDelete() || len(op.RangeBytes()) > 0
	}) {
		return false
	}
	return slices.ContainsFunc(t.cmps, func(c clientv3.Cmp) bool {
		return revisionIn(c) > 0 &&
			slices.ContainsFunc(t.then, func(op clientv3.Op) bool { return bytes.Equal(op.KeyBytes(), c.KeyBytes()) })
	})
}

// findOutcome returns the outcome of a first copy after refusal, the answer to the second: refusal if the first was not
// carried out, an answer like the lost answer if the first was, doubt if the keys show neither.
func (t *explainedTxn) findOutcome(ctx context.Context, refusal *clientv3.TxnResponse, doubt error) (*clientv3.TxnResponse, error) {
	compared := map[string]int64{}
	last := int64(0) // the highest
	for _, c := range t.cmps {
		if revision := revisionIn(c); revision > 0 {
			compared[string(c.KeyBytes())] = revision
			last = max(last, revision)
		}
	}
	var (
		unchanged bool  // a written key has its compared revision
		moved     bool  // a late copy will be rejected
		taken     bool  // another transaction created a written key
		absent    bool  // a key to put is absent
		at        int64 // revision of a key put by this transaction; 0 if unknown
	)
	found, err := t.readWrittenKeys(ctx)
	if err != nil {
		return nil, doubt
	}
	for i, op := range t.then {
		was, kv := compared[string(op.KeyBytes())], found[i]
		once := kv.GetVersion() == 1 && kv.GetCreateRevision() > last
		switch same := op.IsPut() && bytes.Equal(kv.GetValue(), op.ValueBytes()); {
		case was > 0 && kv.GetModRevision() == was:
			unchanged = true
		case same && (once || len(t.then) == 1):
			at = kv.GetModRevision()
		case once:
			taken = true
		case was == 0 && kv == nil && op.IsPut():
			absent = true
		}
		moved = moved || was > 0 && kv != nil && kv.GetModRevision() != was
	}
	switch {
	case at > 0 && !unchanged && !taken:
		return t.makeResponse(at, refusal), nil
	case at == 0 && moved && (unchanged || taken || absent):
		return refusal, nil
	}
	return nil, doubt
}

func (t *explainedTxn) readWrittenKeys(ctx context.Context) (all []*mvccpb.KeyValue, err error) {
	revision := int64(0)
	for part := range slices.Chunk(t.then, maxProbes) {
		gets := make([]clientv3.Op, len(part))
		for i, op := range part {
			gets[i] = clientv3.OpGet(string(op.KeyBytes()), clientv3.WithRev(revision))
		}
		found, err := t.sendRead(ctx, nil, gets, nil)
		if err != nil {
			return nil, err
		}
		revision = found.Header.Revision
		for _, one := range found.Responses {
			var kv *mvccpb.KeyValue
			if kvs := one.GetResponseRange().Kvs; len(kvs) > 0 {
				kv = kvs[0]
			}
			all = append(all, kv)
		}
	}
	return all, nil
}

func (t *explainedTxn) makeResponse(revision int64, another *clientv3.TxnResponse) *clientv3.TxnResponse {
	answer := &clientv3.TxnResponse{Succeeded: true, Header: &etcdserverpb.ResponseHeader{ClusterId: another.Header.ClusterId,
		MemberId: another.Header.MemberId, Revision: revision, RaftTerm: another.Header.RaftTerm}}
	for _, op := range t.then {
		one, header := &etcdserverpb.ResponseOp{}, &etcdserverpb.ResponseHeader{Revision: revision}
		if op.IsPut() {
			one.Response = &etcdserverpb.ResponseOp_ResponsePut{ResponsePut: &etcdserverpb.PutResponse{Header: header}}
		} else {
			deleted := &etcdserverpb.DeleteRangeResponse{Header: header}
			one.Response = &etcdserverpb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: deleted}
		}
		answer.Responses = append(answer.Responses, one)
	}
	return answer
}

func isProposalDropped(err error) bool {
	return err != nil && status.Convert(err).Message() == raft.ErrProposalDropped.Error()
}

func hasWrites(ops []clientv3.Op) bool {
	return slices.ContainsFunc(ops, func(op clientv3.Op) bool {
		if op.IsTxn() {
			_, then, orelse := op.Txn()
			return hasWrites(then) || hasWrites(orelse)
		}
		return !op.IsGet()
	})
}

func waitToResend(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(repeatPause):
		return true
	}
}
