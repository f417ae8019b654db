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

	"kubi.zone/kubizone/test/must"
)

// S10.4: four sets of a namespace and 32 in all may run; the next waits, and gets an error at the timeout. A caller
// that left keeps nothing.
func TestSlots_S10_4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slots{all: make(chan struct{}, maxSets), of: map[string]*namespaceSlots{}}
		var releases []func()
		take := func(namespace string) {
			t.Helper()
			release := must.Get(s.acquire(t.Context(), namespace))(t)
			releases = append(releases, release)
		}
		full := func(namespace string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := s.acquire(ctx, namespace); !apierrors.IsTooManyRequests(err) {
				t.Errorf("one more of %s: %v", namespace, err)
			}
		}
		for range maxSetsOfNamespace {
			take("noisy")
		}
		full("noisy")
		take("quiet")
		for n := 0; len(releases) < maxSets; n++ {
			take(fmt.Sprintf("team-%d", n))
		}
		full("late")
		waiting := make(chan error, 1)
		go func() {
			release, err := s.acquire(t.Context(), "noisy")
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
		if len(s.of) != 0 || len(s.all) != 0 {
			t.Errorf("%d namespaces and %d slots are left", len(s.of), len(s.all))
		}
	})
}
