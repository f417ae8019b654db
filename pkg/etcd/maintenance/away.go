// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unanswered is how long a transaction waits for etcd. A write then fails within five seconds where its connection is
// dead and nothing says so; waiting out the request would hold its client for a minute.
const unanswered = 4 * time.Second

// errUnanswered ends the context of a transaction whose time is up.
var errUnanswered = errors.New("no answer within " + unanswered.String())

// lost says that etcd did not answer a transaction, or answered that it does not know itself (M5).
func lost(err error) bool {
	for _, known := range []error{
		rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost,
		rpctypes.ErrTimeoutWaitAppliedIndex,
		rpctypes.ErrLeaderChanged, rpctypes.ErrNoLeader, rpctypes.ErrNotLeader, rpctypes.ErrStopped,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return status.Code(err) == codes.Unavailable
}

// unknown is what a client reads whose write etcd did not answer. There is no Retry-After: clients of Kubernetes would
// repeat the write by themselves and read that it is there already, or gone.
func unknown(ctx context.Context, err error) error {
	if !lost(err) && !(err != nil && errors.Is(context.Cause(ctx), errUnanswered)) {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusGatewayTimeout,
		Reason: metav1.StatusReasonTimeout,
		Message: "etcd did not answer (" + err.Error() + "): whether this was carried out is not known. " +
			"Read the object before you repeat the write; kubizone doctor tells an administrator how etcd is",
	}}
}
