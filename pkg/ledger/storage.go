// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/feature"

	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/subrev"
)

// StorageClient returns an etcd client for Kubernetes' storage (etcd3), whose hook lets the ledger commit the writes of
// decorated storages. If versions is not nil, versions replace etcd's revisions.
func StorageClient(client *kubernetes.Client, versions *subrev.Mapping) *kubernetes.Client {
	if versions != nil {
		// etcd3.New would ask endpoints for progress notices, and a versioned client has none.
		feature.DefaultFeatureSupportChecker.CheckClient(client.Ctx(), client, storage.RequestWatchProgress)
		client = &kubernetes.Client{Client: versionedClient(client.Client, versions)}
		client.Kubernetes = client
	}
	return &kubernetes.Client{Client: client.Client, Kubernetes: hook{client.Kubernetes}}
}

// storeWrite is a write of an object that the ledger commits in place of Kubernetes' storage, because object and zone
// must change in the same transaction. The decorated storage (write.go) puts the storeWrite into the request's context.
// When Kubernetes' storage puts or deletes the object, its etcd client (hook) calls commitWrite instead.
type storeWrite interface {
	// commitWrite writes put, the object as encoded by the storage, under key. If put is nil, it deletes key. expected
	// is the revision that the storage has read, or 0 for an absent key. If the object has changed since, Outcome.OK is
	// false.
	commitWrite(ctx context.Context, key string, expected int64, put []byte) (commit.Outcome, error)
}

type storeWriteKey struct{}

func withStoreWrite(ctx context.Context, c storeWrite) context.Context {
	return context.WithValue(ctx, storeWriteKey{}, c)
}

// hook connects Kubernetes' storage with the ledger: the storeWrite in the context, if any, commits the put or delete.
type hook struct{ kubernetes.Interface }

func (s hook) OptimisticPut(ctx context.Context, key string, data []byte, expected int64, opts kubernetes.PutOptions) (
	kubernetes.PutResponse, error) {
	c, _ := ctx.Value(storeWriteKey{}).(storeWrite)
	if c == nil {
		return s.Interface.OptimisticPut(ctx, key, data, expected, opts)
	}
	if opts.LeaseID != clientv3.NoLease {
		return kubernetes.PutResponse{}, errLease
	}
	out, err := c.commitWrite(ctx, key, expected, data)
	if err != nil {
		return kubernetes.PutResponse{}, err
	}
	return kubernetes.PutResponse{Succeeded: out.OK, Revision: out.Rev, KV: out.KV}, nil
}

func (s hook) OptimisticDelete(ctx context.Context, key string, expected int64, opts kubernetes.DeleteOptions) (kubernetes.DeleteResponse,
	error) {
	c, _ := ctx.Value(storeWriteKey{}).(storeWrite)
	if c == nil {
		return s.Interface.OptimisticDelete(ctx, key, expected, opts)
	}
	out, err := c.commitWrite(ctx, key, expected, nil)
	if err != nil {
		return kubernetes.DeleteResponse{}, err
	}
	return kubernetes.DeleteResponse{Succeeded: out.OK, Revision: out.Rev, KV: out.KV}, nil
}

// errLease refuses a TTL, because an expired object would be deleted without a decision.
var errLease = errors.New("objects of kubi.zone cannot expire: write them without a TTL")
