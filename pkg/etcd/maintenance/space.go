// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"net/http"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReasonInsufficientStorage is the reason of the status, with code 507.
const ReasonInsufficientStorage metav1.StatusReason = "InsufficientStorage"

// noSpace is what a client reads whose write etcd refused for want of space. There is no Retry-After: clients of
// Kubernetes would try ten times before they show it to their user.
func noSpace(err error) error {
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusInsufficientStorage,
		Reason: ReasonInsufficientStorage,
		Message: "etcd is full (NOSPACE) and takes no writes; nothing was written, and reading goes on. " +
			"The server is compacting and defragmenting it: " +
			"try again in a minute. If it stays full, an administrator has to raise its quota (docs/operations.md, NOSPACE)",
	}}
}

// Explain makes refusals for want of space, and transactions that etcd does not answer, API errors that say what to do
// (M2, M5).
func Explain(kv clientv3.KV) clientv3.KV { return explained{kv} }

type explained struct{ clientv3.KV }

func (e explained) Put(ctx context.Context, key, value string, options ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	response, err := e.KV.Put(ctx, key, value, options...)
	return response, noSpace(err)
}

func (e explained) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	response, err := e.KV.Do(ctx, op)
	return response, noSpace(err)
}

func (e explained) Txn(ctx context.Context) clientv3.Txn {
	ctx, done := context.WithTimeoutCause(ctx, unanswered, errUnanswered)
	return explainedTxn{e.KV.Txn(ctx), ctx, done}
}

type explainedTxn struct {
	clientv3.Txn
	ctx  context.Context
	done context.CancelFunc
}

func (t explainedTxn) If(compares ...clientv3.Cmp) clientv3.Txn {
	return explainedTxn{t.Txn.If(compares...), t.ctx, t.done}
}

func (t explainedTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	return explainedTxn{t.Txn.Then(ops...), t.ctx, t.done}
}

func (t explainedTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	return explainedTxn{t.Txn.Else(ops...), t.ctx, t.done}
}

func (t explainedTxn) Commit() (*clientv3.TxnResponse, error) {
	defer t.done()
	response, err := t.Txn.Commit()
	return response, unknown(t.ctx, noSpace(err))
}
