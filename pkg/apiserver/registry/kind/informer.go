// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// NewInformer returns an informer that reads the server's own watch cache, without a connection. Objects are copies.
func (r *REST[T]) NewInformer(indexers cache.Indexers) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			converted, err := convertOptions(options)
			if err != nil {
				return nil, err
			}
			// Copy, because items share maps and slices with the watch cache.
			list, err := r.List(ctx, converted)
			if err != nil {
				return nil, err
			}
			return list.DeepCopyObject(), nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			converted, err := convertOptions(options)
			if err != nil {
				return nil, err
			}
			return r.watchCopies(ctx, converted)
		},
	}, r.New(), 0, indexers)
}

// WatchAll watches from the resourceVersion since. With "", the existing objects come first as Added, then a bookmark
// with metav1.InitialEventsAnnotationKey. Objects are copies.
func (r *REST[T]) WatchAll(ctx context.Context, since string) (watch.Interface, error) {
	options := &internalversion.ListOptions{ResourceVersion: since, AllowWatchBookmarks: true}
	if since == "" {
		options.SendInitialEvents, options.ResourceVersionMatch = new(true), metav1.ResourceVersionMatchNotOlderThan
	}
	return r.watchCopies(ctx, options)
}

// watchCopies watches, and unwraps the events shared between watches of the watch cache.
func (r *REST[T]) watchCopies(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	events, err := r.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, func(event watch.Event) (watch.Event, bool) {
		if wrapped, ok := event.Object.(runtime.CacheableObject); ok {
			event.Object = wrapped.GetObject()
		}
		return event, true
	}), nil
}

func convertOptions(options metav1.ListOptions) (*internalversion.ListOptions, error) {
	within := &internalversion.ListOptions{}
	err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&options, within, nil)
	return within, err
}
