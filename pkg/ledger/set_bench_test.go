// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"kubi.zone/kubizone/test/store"
)

// BenchmarkSet compares creating records one after the other, at once by as many callers, and in one change set.
func BenchmarkSet(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		for _, how := range []string{"one after the other", "at once", "set"} {
			b.Run(fmt.Sprintf("%d %s", n, how), func(b *testing.B) {
				s := store.New(b, store.Unchecked).Server()
				store.Must(s.CreateZone(store.Zone("platform", "example-org", "example.org.", store.Allow("", "*"))))
				for i := 0; b.Loop(); i++ {
					writes, errs := make([]setWrite, n), make([]error, n)
					for k := range writes {
						name := fmt.Sprintf("r%d-%d", i, k)
						writes[k] = created(store.Record("team", name, name+".example.org.", "A", "192.0.2.1"))
					}
					switch how {
					case "set":
						_, errs = inSet(b.Context(), s, writes...)
					case "at once":
						parallel(n, func(k int) { errs[k] = writes[k](b.Context(), s) })
					default:
						for k, write := range writes {
							errs[k] = write(b.Context(), s)
						}
					}
					if err := errors.Join(errs...); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
