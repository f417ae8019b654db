// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"kubi.zone/kubizone/api/client/clientset/versioned"
)

func New(cfg Config) (*Loader, error) {
	received := &warnings{}
	client := rest.CopyConfig(cfg.Client)
	client.QPS = -1 // maxWorkers is the limit
	client.WarningHandlerWithContext = received
	binary := rest.CopyConfig(client)
	// Protobuf, because JSON takes a tenth more time per Record.
	binary.ContentType, binary.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	typed, err := versioned.NewForConfig(binary)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	any, err := dynamic.NewForConfig(client)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	asked, err := discovery.NewDiscoveryClientForConfig(client)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	mapping := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(asked))
	return newLoader(cfg, typed, any, mapping, received), nil
}

// Load writes a source's objects and zone files.
func (l *Loader) Load(ctx context.Context, source Source) (Result, error) {
	files, err := source.Files()
	if err != nil {
		return Result{}, err
	}
	var result Result
	if len(files.Manifests) > 0 {
		one, err := l.loadManifests(ctx, source, files.Manifests)
		l.reportHidden()
		result.Add(one)
		if err != nil {
			return result, err
		}
	}
	for _, path := range files.Zones {
		one, err := l.loadZoneFile(ctx, path, source)
		l.reportHidden()
		result.Add(one)
		if err := l.reportFailed(ctx, &result, path, err); err != nil {
			return result, err
		}
	}
	return result, nil
}
