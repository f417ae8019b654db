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
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/raft/v3"
	"google.golang.org/grpc/status"
)

// Even a healthy etcd may leave a write unanswered, because a leader that ends or hands over drops writes forwarded to
// it.
//
// An unanswered transaction that compares the revision of a written key is sent again. If the first copy was applied,
// the revision has changed, and etcd rejects the second copy. Then the key's history shows the outcome.

const (
	// An unanswered write is sent a second time after resendAfter, and a third time after twice that. More copies would
	// burden a slow etcd.
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

// Commit sends the transaction, again if needed, for at most txnTimeout. An unknown outcome is a 504, and a full etcd a
// 507.
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
	if t.isResendable() {
		return t.sendCopies(ctx)
	}
	for {
		response, err := t.sendOnce(ctx, t.cmps, t.then, t.orelse)
		// Only a dropped proposal certainly had no effect, so only then is a repeat safe.
		if !isProposalDropped(err) || !waitToResend(ctx) {
			return response, err
		}
	}
}

// sendCopies sends a resendable transaction until etcd answers a copy.
func (t *explainedTxn) sendCopies(ctx context.Context) (*clientv3.TxnResponse, error) {
	var doubt error // why it is unknown whether an earlier copy was applied, or nil
	for timeout := resendAfter; ; {
		attempt, cancel := context.WithTimeout(ctx, timeout)
		response, err := t.sendOnce(attempt, t.cmps, t.then, t.orelse)
		isLate := attempt.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			return t.findOutcome(ctx, response, doubt)
		case isProposalDropped(err): // certainly not applied
		case isLate:
			doubt = cmp.Or(doubt, errSlow)
			timeout *= 2
		case isUnanswered(err):
			doubt = cmp.Or(doubt, err)
		default:
			// A refusal of the request itself, unless an earlier copy may have been applied.
			return nil, cmp.Or(doubt, err)
		}
		// After a late attempt, send the next copy at once.
		if !isLate && !waitToResend(ctx) {
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

// isResendable reports whether a second copy has no effect after the first: the transaction writes single keys, and
// compares the revision of a written key.
func (t *explainedTxn) isResendable() bool {
	// A range, or a nested transaction, cannot be checked key by key.
	if hasWrites(t.orelse) || slices.ContainsFunc(t.then, func(op clientv3.Op) bool {
		return !op.IsPut() && !op.IsDelete() || len(op.RangeBytes()) > 0
	}) {
		return false
	}
	return slices.ContainsFunc(t.then, func(op clientv3.Op) bool { return t.comparedRevision(op.KeyBytes()) > 0 })
}

// findOutcome returns the outcome of a transaction after etcd has answered a later copy of it. If the answer is a
// refusal, and doubtErr says why an earlier copy may have been applied, that copy may be the reason. If it was
// applied, the outcome is success, otherwise the refusal in laterAnswer. If it may still be applied, or the revisions
// in question cannot be read, findOutcome returns doubtErr.
func (t *explainedTxn) findOutcome(ctx context.Context, laterAnswer *clientv3.TxnResponse, doubtErr error) (*clientv3.TxnResponse, error) {
	if laterAnswer.Succeeded || doubtErr == nil {
		return laterAnswer, nil
	}
	// Find a written key whose revision differs from the compared revision.
	found, newestRev, err := t.readWrittenKeys(ctx, 0)
	if err != nil {
		return nil, doubtErr
	}
	for i, op := range t.then {
		comparedRev := t.comparedRevision(op.KeyBytes())
		if comparedRev == 0 || found[i].GetModRevision() == comparedRev {
			continue
		}
		// Only the next change of this key can be the transaction. Another transaction may have written the same value
		// here, so compare all keys as of that revision.
		changeRev, err := t.findNextChange(ctx, string(op.KeyBytes()), comparedRev, cmp.Or(found[i].GetModRevision(), newestRev))
		if err != nil {
			return nil, doubtErr
		}
		written, _, err := t.readWrittenKeys(ctx, changeRev)
		if err != nil {
			return nil, doubtErr
		}
		if t.isWritten(written, changeRev) {
			return t.makeResponse(changeRev, laterAnswer), nil
		}
		return laterAnswer, nil
	}
	return nil, doubtErr
}

// comparedRevision returns the revision that the transaction requires of a key, or 0 if the key may have any or must be
// absent.
func (t *explainedTxn) comparedRevision(key []byte) int64 {
	for _, c := range t.cmps {
		if revision := revisionIn(c); revision > 0 && bytes.Equal(c.KeyBytes(), key) {
			return revision
		}
	}
	return 0
}

// findNextChange returns the revision of a key's first write or deletion after oldRev, by a binary search. The key must
// have changed by newRev. ErrCompacted means that the change may precede the last compaction.
func (t *explainedTxn) findNextChange(ctx context.Context, key string, oldRev, newRev int64) (int64, error) {
	// The change is after revision low, and at high or earlier. If low is compacted, lowIsKnown is false.
	low, high, lowIsKnown := oldRev, newRev, true
	for high > low+1 {
		middle := low + (high-low)/2
		found, err := t.sendRead(ctx, nil, []clientv3.Op{clientv3.OpGet(key, clientv3.WithRev(middle), clientv3.WithKeysOnly())}, nil)
		switch {
		case errors.Is(err, rpctypes.ErrCompacted):
			low, lowIsKnown = middle, false
			continue
		case err != nil:
			return 0, err
		}
		switch kv := firstKV(found.Responses[0]); {
		// The key has not changed by then.
		case kv.GetModRevision() == oldRev:
			low, lowIsKnown = middle, true
		// The key has changed by then, last at kv.ModRevision. The first change is there or earlier.
		case kv != nil:
			high = kv.ModRevision
		default: // deleted by then
			high = middle
		}
	}
	if !lowIsKnown {
		return 0, rpctypes.ErrCompacted
	}
	return high, nil
}

// isWritten reports whether all keys, as read at a revision, have the values and the revision that the transaction
// would have given them.
func (t *explainedTxn) isWritten(keyValues []*mvccpb.KeyValue, revision int64) bool {
	for i, op := range t.then {
		kv := keyValues[i]
		if op.IsDelete() && kv != nil || op.IsPut() && (kv.GetModRevision() != revision || !bytes.Equal(kv.GetValue(), op.ValueBytes())) {
			return false
		}
	}
	return true
}

// readWrittenKeys reads the keys that the transaction writes, as of a revision, and returns the revision too. An absent
// key is nil. Revision 0 means the newest.
func (t *explainedTxn) readWrittenKeys(ctx context.Context, revision int64) (keyValues []*mvccpb.KeyValue, readRevision int64, err error) {
	for part := range slices.Chunk(t.then, maxProbes) {
		gets := make([]clientv3.Op, len(part))
		for i, op := range part {
			gets[i] = clientv3.OpGet(string(op.KeyBytes()), clientv3.WithRev(revision))
		}
		found, err := t.sendRead(ctx, nil, gets, nil)
		if err != nil {
			return nil, 0, err
		}
		revision = cmp.Or(revision, found.Header.Revision)
		for _, response := range found.Responses {
			keyValues = append(keyValues, firstKV(response))
		}
	}
	return keyValues, revision, nil
}

func firstKV(of *etcdserverpb.ResponseOp) *mvccpb.KeyValue {
	if kvs := of.GetResponseRange().GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// makeResponse returns the answer that etcd would have given to the applied copy, from its revision. Former values and
// counts of deletions are unknown.
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
