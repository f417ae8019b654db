// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// etcdOptions are upstream's, for a store at where.
func etcdOptions(registry install.Registry, where storagebackend.TransportConfig) *genericoptions.EtcdOptions {
	stored := storagebackend.NewDefaultConfig(Prefix, registry.StorageCodec())
	stored.EncodeVersioner = install.StoredVersions
	tracing := stored.Transport.TracerProvider
	stored.Transport = where
	if stored.Transport.TracerProvider == nil {
		stored.Transport.TracerProvider = tracing
	}
	options := genericoptions.NewEtcdOptions(stored)
	// No garbage collector watches a standalone server: the finalizers of the propagation policies Orphan and
	// Foreground would stand for ever, and a delete with one of them would never end (S8.7). Without it every policy
	// deletes at once.
	options.EnableGarbageCollection = false
	return options
}

// objectCodec is how objects of a resource are written: the codec and, with an encryption configuration, what it says
// of them. The ledger writes some of them past the storage and must write them alike.
func objectCodec(etcd *genericoptions.EtcdOptions, encryption value.ResourceTransformers,
	resource schema.GroupResource) objects.ObjectCodec {
	// Without encryption, an object that another configuration encrypted is called encrypted, and not damaged.
	codec := objects.ObjectCodec{Codec: etcd.StorageConfig.Codec, Transformer: identity.NewEncryptCheckTransformer()}
	if encryption != nil {
		codec.Transformer = encryption.TransformerForResource(resource)
	}
	return codec
}

// Source says where a store is that is read or written without a server.
type Source struct {
	Etcd storagebackend.TransportConfig
	// EncryptionProviderConfigFile as upstream's --encryption-provider-config; empty: what is stored is not encrypted.
	EncryptionProviderConfigFile string
}

// Open connects to the store. codecOf says how the objects of a resource are written there, one of kubi.zone or with
// its group ("bind9clusters.bind9.kubi.zone"). The caller closes the client.
func (s Source) Open(ctx context.Context) (client *kubernetes.Client, codecOf func(resource string) objects.ObjectCodec, err error) {
	options := etcdOptions(install.New(), s.Etcd)
	var encryption value.ResourceTransformers
	if s.EncryptionProviderConfigFile != "" {
		loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, s.EncryptionProviderConfigFile, false, "")
		if err != nil {
			return nil, nil, fmt.Errorf("--encryption-provider-config: %w", err)
		}
		encryption = encryptionconfig.StaticTransformers(loaded.Transformers)
	}
	codecOf = func(resource string) objects.ObjectCodec {
		named := schema.ParseGroupResource(resource)
		if named.Group == "" {
			named.Group = v1alpha1.GroupName
		}
		return objectCodec(options, encryption, named)
	}
	client, err = dialEtcd(ctx, options.StorageConfig.Transport)
	return client, codecOf, err
}
