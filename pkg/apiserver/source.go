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
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// etcdOptions returns the options of storage in etcd: Kubizone's prefix, codec and stored versions.
func etcdOptions(registry install.Registry, where storagebackend.TransportConfig) *genericoptions.EtcdOptions {
	stored := storagebackend.NewDefaultConfig(Prefix, registry.StorageCodec())
	stored.EncodeVersioner = install.StoredVersions
	tracing := stored.Transport.TracerProvider
	stored.Transport = where
	if stored.Transport.TracerProvider == nil {
		stored.Transport.TracerProvider = tracing
	}
	options := genericoptions.NewEtcdOptions(stored)
	// In a standalone server nothing removes the finalizers Orphan and Foreground, so deletions would never end.
	options.EnableGarbageCollection = false
	return options
}

func objectCodec(etcd *genericoptions.EtcdOptions, encryption value.ResourceTransformers,
	resource schema.GroupResource) objects.ObjectCodec {
	// Unlike the plain identity transformer, this transformer fails on encrypted objects.
	codec := objects.ObjectCodec{Codec: etcd.StorageConfig.Codec, Transformer: identity.NewEncryptCheckTransformer()}
	if encryption != nil {
		codec.Transformer = encryption.TransformerForResource(resource)
	}
	return codec
}

// Source locates a store, for commands such as fsck.
type Source struct {
	Etcd                         storagebackend.TransportConfig
	EncryptionProviderConfigFile string
}

// Open returns a client of etcd, which the caller closes, and the codecs of stored objects by resource, for example
// "records" or "bind9clusters.bind9.kubi.zone".
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
		groupResource := schema.ParseGroupResource(resource)
		if groupResource.Group == "" {
			groupResource.Group = v1alpha1.GroupName
		}
		return objectCodec(options, encryption, groupResource)
	}
	client, err = dialEtcd(ctx, options.StorageConfig.Transport)
	return client, codecOf, err
}
