// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// S10.4: change sets in progress have at most maxItemsOfNamespace items of a namespace and maxItems in all, so small
// sets run beside each other; the next waits, and gets an error at the timeout. A caller that left keeps nothing.
func TestSlots_S10_4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots()
		var releases []func()
		const large, small = v1alpha1.MaxChangeSetItems, 2
		take := func(namespace string, items int) {
			t.Helper()
			release := must.Get(s.acquire(t.Context(), namespace, items))(t)
			releases = append(releases, release)
		}
		full := func(namespace string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := s.acquire(ctx, namespace, 1); !apierrors.IsTooManyRequests(err) {
				t.Errorf("one more of %s: %v", namespace, err)
			}
		}
		for range maxItemsOfNamespace / large {
			take("noisy", large)
		}
		full("noisy")
		for range maxItemsOfNamespace / small {
			take("quiet", small)
		}
		full("quiet")
		for n := range (maxItems - 2*maxItemsOfNamespace) / large {
			take(fmt.Sprintf("team-%d", n), large)
		}
		full("late")
		waiting := make(chan error, 1)
		go func() {
			release, err := s.acquire(t.Context(), "noisy", large)
			if err == nil {
				defer release()
			}
			waiting <- err
		}()
		synctest.Wait()
		releases[0]()
		if err := <-waiting; err != nil {
			t.Error(err)
		}
		for _, release := range releases[1:] {
			release()
		}
		if len(s.byNamespace) != 0 || !s.all.TryAcquire(maxItems) {
			t.Errorf("%d namespaces are left, or slots are taken", len(s.byNamespace))
		}
	})
}
