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
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// Source says where a store is that is read or written without a server.
type Source struct {
	Etcd storagebackend.TransportConfig
	// EncryptionProviderConfigFile as upstream's --encryption-provider-config; empty: what is stored is not encrypted.
	EncryptionProviderConfigFile string
}

// Open connects to the store. codecOf says how the objects of a resource are written there. The caller closes the
// client.
func (s Source) Open(ctx context.Context) (client *kubernetes.Client, codecOf func(resource string) objects.ObjectCodec, err error) {
	options := etcdOptions(install.New(), Config{Etcd: s.Etcd})
	var encryption value.ResourceTransformers
	if s.EncryptionProviderConfigFile != "" {
		loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, s.EncryptionProviderConfigFile, false, "")
		if err != nil {
			return nil, nil, fmt.Errorf("--encryption-provider-config: %w", err)
		}
		encryption = encryptionconfig.StaticTransformers(loaded.Transformers)
	}
	codecOf = func(resource string) objects.ObjectCodec {
		return stored(options, encryption, v1alpha1.Resource(resource))
	}
	client, err = dial(ctx, options.StorageConfig.Transport)
	return client, codecOf, err
}
