// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"maps"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

var (
	//go:embed format12.json.gz
	format12 []byte
	//go:embed format12sealed.json.gz
	format12sealed []byte
)

// Prefix12 is that of the store of LoadFormat12: sealed keys are bound to it.
const Prefix12 = "/registry/kubizone"

// LoadFormat12 puts into this store, which is empty and at Prefix12, one that f24a7f80 has written, of format 12,
// before objects had versions: zones platform/org (example.org), team/child (child.example.org) and platform/net
// (example.net); three records of team in each of the first two, one of which is deleted, and three of tenant in the
// third, which no rule lets in any more, as outbox work says; team/waits, which no zone has; and ten of team, batch-0
// to batch-9, of which a redo log has six that are not written. sealed: it is encrypted by the provider secretbox
// with the key "one", SHA-256 of its name. Objects of one transaction are written in one again.
func (s *Store) LoadFormat12(sealed bool) {
	s.T.Helper()
	file := format12
	if sealed {
		file = format12sealed
	}
	var all []struct {
		Key      string
		Value    []byte
		Revision int64
	}
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err == nil {
		err = json.NewDecoder(r).Decode(&all)
	}
	if err != nil || s.Prefix != Prefix12 {
		s.T.Fatalf("into %s: %v", s.Prefix, err)
	}
	together := map[int64][]clientv3.Op{}
	for _, kv := range all {
		together[kv.Revision] = append(together[kv.Revision], clientv3.OpPut(s.Prefix+kv.Key, string(kv.Value)))
	}
	for _, revision := range slices.Sorted(maps.Keys(together)) {
		if _, err := s.Client.Client.Txn(s.T.Context()).Then(together[revision]...).Commit(); err != nil {
			s.T.Fatal(err)
		}
	}
}
