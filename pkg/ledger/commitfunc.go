// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/pkg/ledger/commit"
)

// CommitFunc carries out one optimistic write of Kubernetes' storage in a
// transaction of its own: put nil deletes key, expected 0 means that it is
// absent. Not ok: key was not at expected, and present is what stands there, nil
// for nothing. An error is the answer that the client gets.
type CommitFunc func(ctx context.Context, key string, expected int64, put []byte) (ok bool, revision int64, present *mvccpb.KeyValue,
	err error)

func (f CommitFunc) commitWrite(ctx context.Context, key string, expected int64, put []byte) (commit.Outcome, error) {
	ok, revision, present, err := f(ctx, key, expected, put)
	return commit.Outcome{OK: ok, Rev: revision, KV: present}, err
}

// WithCommit has f carry out the write that a storage call makes through a client of StorageClient. Records and Zones
// bring their own function. This one is for other resources, and for running Kubernetes' own storage tests against
// the hook (test/storage).
func WithCommit(ctx context.Context, f CommitFunc) context.Context {
	return withCommitter(ctx, f)
}
