// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const ReasonInsufficientStorage metav1.StatusReason = "InsufficientStorage"

// txnTimeout leaves a second of the five that M5 allows.
const txnTimeout = 4 * time.Second

var errUnanswered = errors.New("no answer within " + txnTimeout.String())

// isUnanswered reports whether an error may leave open if etcd has carried out the request.
func isUnanswered(err error) bool {
	for _, known := range []error{
		rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost,
		rpctypes.ErrTimeoutWaitAppliedIndex,
		rpctypes.ErrLeaderChanged, rpctypes.ErrNoLeader, rpctypes.ErrNotLeader, rpctypes.ErrStopped, errSlow,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return status.Code(err) == codes.Unavailable
}

// newStatusError returns an error without Retry-After, which would make Kubernetes clients repeat the write ten times.
func newStatusError(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func explainNoSpace(err error) error {
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		return err
	}
	return newStatusError(http.StatusInsufficientStorage, ReasonInsufficientStorage,
		"etcd is full (NOSPACE) and takes no writes; nothing was written, and reading goes on. "+
			"The server is compacting and defragmenting it: "+
			"try again in a minute. If it stays full, an administrator has to raise its quota (docs/operations.md, NOSPACE)")
}

func explainUnknown(ctx context.Context, err error) error {
	if !isUnanswered(err) && !(err != nil && errors.Is(context.Cause(ctx), errUnanswered)) {
		return err
	}
	return newStatusError(http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
		"etcd did not answer ("+err.Error()+"): whether this was carried out is not known. Read the object before you repeat the write; "+
			"administrators check etcd with kubectl kubizone doctor")
}

// Explain wraps a KV. Transactions without an answer are sent again, and errors about etcd's state become API errors
// with the next step.
func Explain(kv clientv3.KV) clientv3.KV { return explained{kv} }

type explained struct{ clientv3.KV }

func (e explained) Put(ctx context.Context, key, value string, options ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	response, err := e.KV.Put(ctx, key, value, options...)
	return response, explainNoSpace(err)
}

func (e explained) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	response, err := e.KV.Do(ctx, op)
	return response, explainNoSpace(err)
}

func (e explained) Txn(ctx context.Context) clientv3.Txn { return &explainedTxn{kv: e.KV, parent: ctx} }
