// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package must

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

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

// Eventually asks until holds is true, and fails the test after two minutes.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

// Say fails the test for each part that the text of an error or another value does not have. The test goes on.
func Say(t testing.TB, value any, parts ...string) {
	t.Helper()
	text := fmt.Sprint(value)
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("nothing says %q in\n%s", part, text)
		}
	}
}
