// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"kubi.zone/kubizone/api/client/clientset/versioned/scheme"
)

const rewatch = time.Second

type source struct {
	resource, namespace string
	selector            fields.Selector
}

// followList calls notify after each event of a watch, and whenever a watch begins, until ctx ends. If the user may not
// list or watch, it returns the missing right.
func (s *source) followList(ctx context.Context, r *reading, notify func()) *lack {
	// A watch begins at the resourceVersion of a list of a single object. The list has no selector, because the server
	// would sort all objects of the selector's index. A selector of an object's name stays, because the user may have
	// rights to this name alone.
	options, listOptions := metav1.ListOptions{}, metav1.ListOptions{Limit: 1}
	if s.selector != nil {
		options.FieldSelector = s.selector.String()
		if _, named := s.selector.RequiresExactMatch(metav1.ObjectNameField); named {
			listOptions.FieldSelector = options.FieldSelector
		}
	}

	for ctx.Err() == nil {
		var list struct {
			metav1.ListMeta `json:"metadata"`
		}
		request := func() error {
			body, err := r.api.RESTClient().Get().Namespace(s.namespace).Resource(s.resource).VersionedParams(&listOptions,
				scheme.ParameterCodec).SetHeader("Accept", "application/json").DoRaw(ctx)
			if err == nil {
				err = json.Unmarshal(body, &list)
			}
			return err
		}

		err := request()
		if apierrors.IsForbidden(err) {
			return lackOf(err, "list", s.resource, s.namespace)
		}

		// The page was rendered before the list, so changes in between would be missed. Render again.
		notify()
		if err == nil {
			err = s.watchList(ctx, r, options, list.ResourceVersion, notify)
		}
		if apierrors.IsForbidden(err) {
			return lackOf(err, "watch", s.resource, s.namespace)
		}

		select {
		case <-ctx.Done():
		case <-time.After(rewatch):
		}
	}
	return nil
}

// findUnfollowed returns a missing right that leaves the page stale, or nil. The right lacks[i] is missing for
// sources[i], unless nil. A missing right to list does no harm if another list of the resource is followed.
func findUnfollowed(sources []source, lacks []*lack) *lack {
	listed := map[string]bool{}
	for i := range sources {
		if lacks[i] == nil {
			listed[sources[i].resource] = true
		}
	}
	for i, missing := range lacks {
		if missing != nil && (missing.Verb == "watch" || !listed[sources[i].resource]) {
			return missing
		}
	}
	return nil
}

// watchList calls notify for each event after the resource version, and returns nil when the server ends the watch.
// Bookmarks only move the version, and do not count.
func (s *source) watchList(ctx context.Context, r *reading, options metav1.ListOptions, version string, notify func()) error {
	options.Watch, options.ResourceVersion, options.AllowWatchBookmarks = true, version, true
	events, err := r.api.RESTClient().Get().Namespace(s.namespace).Resource(s.resource).VersionedParams(&options,
		scheme.ParameterCodec).Watch(ctx)
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type != watch.Bookmark {
			notify()
		}
	}
	return nil
}
