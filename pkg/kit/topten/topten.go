// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package topten

import (
	"cmp"
	"maps"
	"slices"
)

// Keys returns the keys of the first ten values by compare; equal values are in the order of their keys.
func Keys[V any](values map[string]V, compare func(x, y V) int) []string {
	all := slices.SortedFunc(maps.Keys(values), func(x, y string) int {
		return cmp.Or(compare(values[x], values[y]), cmp.Compare(x, y))
	})
	return all[:min(len(all), 10)]
}

func Descending[V cmp.Ordered](x, y V) int { return cmp.Compare(y, x) }
