// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

//go:embed format1.json.gz
var format1 []byte

// Pair is a key, without the prefix of its store, and its value.
type Pair struct {
	Key   string
	Value []byte
}

// Format1 is a store that f78bcd3, of format 1, has written through its ledger and by its rules: zones bad
// (example.org), one (example.net), good (example.com) and crowded (crowded.test) of namespace platform, and records of
// platform and tenant. Those named bad-* are refused now, each for a reason of its own; those named good-* are not. The
// apex of crowded.test has 100 types beside SOA and NS, crowded-000 being the oldest and crowded-099 a tenant's; now
// 98 may stand there.
func Format1() []Pair {
	var all []Pair
	r, err := gzip.NewReader(bytes.NewReader(format1))
	if err == nil {
		err = json.NewDecoder(r).Decode(&all)
	}
	return Must(all, err)
}

// LoadFormat1 puts that store where this one is empty.
func (s *Store) LoadFormat1() {
	s.T.Helper()
	for part := range slices.Chunk(Format1(), 100) {
		var ops []clientv3.Op
		for _, kv := range part {
			ops = append(ops, clientv3.OpPut(s.Prefix+kv.Key, string(kv.Value)))
		}
		if _, err := s.Client.Client.Txn(s.T.Context()).Then(ops...).Commit(); err != nil {
			s.T.Fatal(err)
		}
	}
}
