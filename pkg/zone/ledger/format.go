// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type storeConfig struct {
	Format        int    `json:"format"`        // number of the last migration, or FirstFormat
	LeastReader   int    `json:"leastReader"`   // programs that know only lower formats refuse the store
	HashAlgorithm int    `json:"hashAlgorithm"` // of status.hash, sethash.Algorithm
	Key           []byte `json:"key,omitempty"` // an encryption.Key, encrypted like a Record; empty without encryption
}

const (
	// FirstFormat is the lowest format read or migrated by this program.
	FirstFormat = 24
	// Format is the newest format known to this program.
	Format = 27
)

func (c storeConfig) checkFormat(all []migration) error {
	if newest := newestFormat(all); c.LeastReader > newest {
		return formatError(fmt.Sprintf("the store is of format %d, for programs that know format %d or later, and this kubizone knows %d: "+
			"a newer kubizone has written it; start a version that knows it", c.Format, c.LeastReader, newest))
	}
	return CheckFirstFormat(c.Format)
}

func CheckFirstFormat(format int) error {
	if format >= FirstFormat {
		return nil
	}
	return formatError(fmt.Sprintf("the store is of format %d, and the first that this kubizone reads is %d: "+
		"start the kubizone that wrote it, "+
		"export its zones with kubectl kubizone export, and load them into a new store with kubectl kubizone import", format, FirstFormat))
}

type formatError string

func (e formatError) Error() string { return string(e) }
func (formatError) Unwrap() error   { return ErrFormat }

// fencedKV refuses all writes once FollowFormat has set superseded: a newer program owns the store.
type fencedKV struct {
	clientv3.KV
	superseded *atomic.Bool
}

func (f fencedKV) Txn(ctx context.Context) clientv3.Txn {
	if f.superseded.Load() {
		return refusingTxn{}
	}
	return f.KV.Txn(ctx)
}

func (f fencedKV) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	if f.superseded.Load() {
		return nil, supersededError()
	}
	return f.KV.Delete(ctx, key, opts...)
}

type refusingTxn struct{}

func (r refusingTxn) If(...clientv3.Cmp) clientv3.Txn        { return r }
func (r refusingTxn) Then(...clientv3.Op) clientv3.Txn       { return r }
func (r refusingTxn) Else(...clientv3.Op) clientv3.Txn       { return r }
func (r refusingTxn) Commit() (*clientv3.TxnResponse, error) { return nil, supersededError() }

// refuseSuperseded is fencedKV's refusal, for writes by another client.
func (l *Ledger) refuseSuperseded() error {
	if l.superseded.Load() {
		return supersededError()
	}
	return nil
}

func supersededError() error {
	ends := apierrors.NewServiceUnavailable("a newer kubizone has taken the store over, and this server ends; " +
		"nothing was written: try again, and another server answers")
	ends.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return endsError{ends}
}

type endsError struct{ *apierrors.StatusError }

func (endsError) Unwrap() error { return ErrFormat }

var ErrFormat = errors.New("this kubizone does not read the format of the store")
