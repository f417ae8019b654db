// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"

	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/fsck"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// Source is a store without a server of its own.
type Source struct {
	Etcd storagebackend.TransportConfig
	// EncryptionProviderConfigFile as upstream's --encryption-provider-config; empty: what is stored is not encrypted.
	EncryptionProviderConfigFile string
}

// open connects to the store, and says how the objects of a resource stand there. The caller closes the client.
func (s Source) open(ctx context.Context) (client *kubernetes.Client, of func(resource string) objects.ObjectCodec, err error) {
	options := etcdOptions(install.New(), Config{Etcd: s.Etcd})
	var encryption value.ResourceTransformers
	if s.EncryptionProviderConfigFile != "" {
		loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, s.EncryptionProviderConfigFile, false, "")
		if err != nil {
			return nil, nil, fmt.Errorf("--encryption-provider-config: %w", err)
		}
		encryption = encryptionconfig.StaticTransformers(loaded.Transformers)
	}
	of = func(resource string) objects.ObjectCodec {
		return stored(options, encryption, v1alpha1.Resource(resource))
	}
	client, err = dial(ctx, options.StorageConfig.Transport)
	return client, of, err
}

// Check recomputes what the ledger keeps, from the objects stored there. It writes nothing and may run beside a server.
func Check(ctx context.Context, source Source) (fsck.Report, error) {
	client, of, err := source.open(ctx)
	if err != nil {
		return fsck.Report{}, err
	}
	defer client.Close()
	return fsck.Run(ctx, fsck.Config{Client: client.Client, Prefix: Prefix, Zones: of("zones"), Records: of("records"), Delegations: of("delegations")})
}

// AdoptCluster makes the store belong to the cluster whose kube-system has this uid, and returns the one it belonged
// to, "" for none (S8.3). Servers may run.
func AdoptCluster(ctx context.Context, source Source, uid string) (before string, err error) {
	client, _, err := source.open(ctx)
	if err != nil {
		return "", err
	}
	defer client.Close()
	return ledger.AdoptCluster(ctx, client.Client, Prefix, uid)
}
