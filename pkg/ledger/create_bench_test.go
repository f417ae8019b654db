// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"testing"

	"kubi.zone/kubizone/test/store"
)

// BenchmarkCreate creates Records of a tenant in one zone, one after the other, through the storage of a server. etcd
// runs in the process, and its share is in the figures.
func BenchmarkCreate(b *testing.B) {
	st := store.On(b, store.Fresh(b), "/registry/kubizone")
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("team", "*"))))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprint("r", i)
		store.Must(s.CreateRecord(b.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
	}
}
