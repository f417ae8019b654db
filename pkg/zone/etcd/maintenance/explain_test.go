// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// answering fails each transaction with err, or without err at the end of the context. If recovers is set, only the
// first transaction fails.
type answering struct {
	clientv3.KV
	err      error
	recovers bool
	asked    *int
}

func (a answering) Txn(ctx context.Context) clientv3.Txn {
	if a.asked == nil {
		a.asked = new(int)
	}
	return answeringTxn{nil, ctx, a}
}

type answeringTxn struct {
	clientv3.Txn
	ctx context.Context
	answering
}

func (a answeringTxn) If(...clientv3.Cmp) clientv3.Txn  { return a }
func (a answeringTxn) Then(...clientv3.Op) clientv3.Txn { return a }
func (a answeringTxn) Else(...clientv3.Op) clientv3.Txn { return a }

func (a answeringTxn) Commit() (*clientv3.TxnResponse, error) {
	if *a.asked++; a.recovers && *a.asked > 1 {
		return &clientv3.TxnResponse{Succeeded: true}, nil
	}
	if a.err != nil {
		return nil, a.err
	}
	<-a.ctx.Done()
	return nil, a.ctx.Err()
}

// If etcd does not say whether a write was carried out, the client gets an error within five seconds that says just
// this, and the write is not reported as refused (M5, F3, F7).
func TestExplain_outcomesThatNobodyKnows(t *testing.T) {
	unsafe, safe := clientv3.Compare(clientv3.ModRevision("k"), "=", 0), clientv3.Compare(clientv3.ModRevision("k"), "=", 5)
	for name, given := range map[string]error{
		"no leader": rpctypes.ErrNoLeader, "the leader changed": rpctypes.ErrLeaderChanged, "etcd's own time is up": rpctypes.ErrTimeout,
		"the connection broke": status.Error(codes.Unavailable, "error reading from server: EOF"), "silence": nil,
	} {
		for again, compare := range map[string]clientv3.Cmp{"once": unsafe, "sent again": safe} {
			t.Run(name+", "+again, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					_, err := Explain(answering{err: given}).Txn(t.Context()).If(compare).Then(clientv3.OpPut("k", "v")).Commit()
					if !apierrors.IsTimeout(err) || !strings.Contains(err.Error(), "whether this was carried out is not known") ||
						strings.Contains(err.Error(), "\n") {
						t.Errorf("%v", err)
					}
					if code := err.(apierrors.APIStatus).Status(); code.Code != http.StatusGatewayTimeout || code.Details != nil {
						t.Errorf("%+v", code)
					}
					if elapsed := time.Since(began); elapsed > 5*time.Second {
						t.Errorf("after %s", elapsed)
					}
				})
			})
		}
	}
	for name, given := range map[string]error{"compacted": rpctypes.ErrCompacted, "too large": rpctypes.ErrRequestTooLarge} {
		if _, err := Explain(answering{err: given}).Txn(t.Context()).Commit(); !errors.Is(err, given) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// While etcd changes its leader, it refuses requests. A transaction that only reads is sent again. One that writes is
// not, because the first attempt may have been carried out.
func TestExplain_readsAreRepeated(t *testing.T) {
	get, put := clientv3.OpGet("k"), clientv3.OpPut("k", "v")
	for name, test := range map[string]struct {
		then, orelse []clientv3.Op
		err          error
		again        bool
	}{
		"a proof":                      {nil, nil, rpctypes.ErrLeaderChanged, true},
		"facts":                        {[]clientv3.Op{get}, nil, rpctypes.ErrNoLeader, true},
		"a proof that reads otherwise": {nil, []clientv3.Op{get}, status.Error(codes.Unavailable, "connection refused"), true},
		"reads in a transaction of its own": {[]clientv3.Op{clientv3.OpTxn(nil, []clientv3.Op{get}, nil)}, nil,
			rpctypes.ErrLeaderChanged, true},
		"a write":           {[]clientv3.Op{get, put}, nil, rpctypes.ErrLeaderChanged, false},
		"a write otherwise": {nil, []clientv3.Op{clientv3.OpDelete("k")}, rpctypes.ErrNoLeader, false},
		"a write in a transaction of its own": {[]clientv3.Op{clientv3.OpTxn(nil, nil, []clientv3.Op{put})}, nil,
			rpctypes.ErrLeaderChanged, false},
		"a refusal": {[]clientv3.Op{get}, nil, rpctypes.ErrCompacted, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := answering{err: test.err, recovers: true, asked: new(int)}
				_, err := Explain(kv).Txn(t.Context()).If().Then(test.then...).Else(test.orelse...).Commit()
				if again := *kv.asked == 2 && err == nil; again != test.again || *kv.asked > 2 {
					t.Errorf("asked %d times: %v", *kv.asked, err)
				}
			})
		})
	}
}

func TestExplain_requestsThatEndThemselves(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Explain(answering{}).Txn(ctx).Commit(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
