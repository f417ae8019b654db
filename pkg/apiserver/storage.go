// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"sync"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/pkg/apiserver/sharing"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
)

type restOptions struct {
	generic.RESTOptionsGetter
	decorator generic.StorageDecorator
}

func (o restOptions) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := o.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.Decorator = o.decorator
	return options, err
}

// newDecorator returns the factory of a resource's storage. Its layers, from etcd up, are a client, the generic
// apiserver's store, the result of wrapStore, the watch cache, and the result of wrapCache. Watch caches must not share
// a client.
func newDecorator(connect func() (*kubernetes.Client, error), compactor etcd3.Compactor, versions *subrev.Mapping,
	wrapStore func(schema.GroupResource, storage.Interface) (storage.Interface, error),
	wrapCache func(storage.Interface) storage.Interface) generic.StorageDecorator {
	compactor = subrev.Compactor(compactor)
	return func(
		config *storagebackend.ConfigForResource, resourcePrefix string, key func(runtime.Object) (string, error),
		newObject, newList func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		client, err := connect()
		if err != nil {
			return nil, nil, err
		}

		// 1. The store in etcd. Without encryption, the transformer fails on encrypted objects.
		transformer := config.Transformer
		if transformer == nil {
			transformer = identity.NewEncryptCheckTransformer()
		}

		versioner := storage.APIObjectVersioner{}
		shared := sharing.New(config.Codec)
		raw, err := etcd3.New(ledger.StorageClient(client, versions), compactor, shared, newObject, newList,
			config.Prefix, resourcePrefix, config.GroupResource,
			transformer, config.LeaseManagerConfig, shared.Decoder(etcd3.NewDefaultDecoder(config.Codec, versioner)), versioner)
		if err != nil {
			client.Close()
			return nil, nil, fmt.Errorf("storage of %s: %w", config.GroupResource, err)
		}

		release := func() {
			raw.Close()
			client.Close()
		}

		// 2. The ledger and budgets, below the watch cache.
		wrapped, err := wrapStore(config.GroupResource, raw)
		if err != nil {
			release()
			return nil, nil, err
		}

		// 3. The watch cache.
		cached, err := cacher.NewCacherFromConfig(cacher.Config{
			Storage:             wrapped,
			Versioner:           versioner,
			GroupResource:       config.GroupResource,
			EventsHistoryWindow: config.EventsHistoryWindow,
			ResourcePrefix:      resourcePrefix,
			KeyFunc:             key,
			NewFunc:             newObject,
			NewListFunc:         newList,
			GetAttrsFunc:        attributes,
			IndexerFuncs:        triggers,
			Indexers:            indexers,
			Codec:               config.Codec,
		})
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("watch cache of %s: %w", config.GroupResource, err)
		}

		delegator := cacher.NewCacheDelegator(cached, wrapped)
		var once sync.Once // each subresource destroys the shared storage
		return wrapCache(delegator), func() {
			once.Do(func() {
				delegator.Stop()
				cached.Stop()
				release()
			})
		}, nil
	}
}
