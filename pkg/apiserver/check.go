// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/fsck"
)

// Check recomputes what the ledger keeps, from the objects stored there. It writes nothing and may run beside a server.
func Check(ctx context.Context, where storagebackend.TransportConfig) (fsck.Report, error) {
	stored := etcdOptions(install.New(), Config{Etcd: where}).StorageConfig
	client, err := dial(ctx, stored.Transport)
	if err != nil {
		return fsck.Report{}, err
	}
	defer client.Close()
	objects := ledger.ObjectCodec{Codec: stored.Codec, Transformer: stored.Transformer}
	return fsck.Run(ctx, fsck.Config{Client: client.Client, Prefix: Prefix, Zones: objects, Records: objects})
}
