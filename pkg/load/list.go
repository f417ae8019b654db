// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// EachItem calls do for every object that list, a method of a client, returns for the options, page by page.
func EachItem[L, T runtime.Object](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error),
	options metav1.ListOptions, do func(T) error) error {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	})
	pages.PageSize = pageSize
	return pages.EachListItem(ctx, options, func(o runtime.Object) error { return do(o.(T)) })
}
