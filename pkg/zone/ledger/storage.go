// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/feature"

	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
)

// StorageClient returns an etcd client for Kubernetes' storage (etcd3), in which versions replace etcd's revisions.
func StorageClient(client *kubernetes.Client, versions *subrev.Mapping) *kubernetes.Client {
	// etcd3.New would ask endpoints for progress notices, and a versioned client has none.
	feature.DefaultFeatureSupportChecker.CheckClient(client.Ctx(), client, storage.RequestWatchProgress)
	versioned := &kubernetes.Client{Client: versionedClient(client.Client, versions)}
	versioned.Kubernetes = versioned
	return versioned
}

// errLease refuses a TTL, because an expired object would be deleted without a decision.
var errLease = errors.New("objects of kubi.zone cannot expire: write them without a TTL")
