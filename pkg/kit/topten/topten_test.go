// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package topten

import (
	"slices"
	"testing"
)

func TestKeys_areTheLargestTen(t *testing.T) {
	values := map[string]int{"least": 1}
	for _, namespace := range "abcdefghijk" {
		values[string(namespace)] = 2
	}
	values["k"] = 3
	want := []string{"k", "a", "b", "c", "d", "e", "f", "g", "h", "i"}
	if got := Keys(values, Descending); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Keys(map[string]int{"few": 1}, Descending); !slices.Equal(got, []string{"few"}) {
		t.Errorf("%v", got)
	}
}
