// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package must

import "testing"

// Get fails the test on an error: must.Get(os.Open(path))(t).
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
