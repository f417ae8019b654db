// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"
)

// Change is one that a snapshot holds: a key that was written, or deleted.
type Change struct {
	Revision int64
	Key      string
	Value    []byte // valid until each returns
	Deleted  bool
}

// ReadSnapshot calls each for the changes in the snapshot at path, in the order in which they were made. What was
// compacted before is not among them, so the last change of each key is the state.
func ReadSnapshot(path string, each func(Change)) error {
	db, err := bbolt.Open(path, 0o400, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("%s is no snapshot of etcd: %w", path, err)
	}
	defer db.Close()
	return db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(schema.Key.Name())
		if bucket == nil {
			return fmt.Errorf("%s is no snapshot of etcd: it has no keys", path)
		}
		return bucket.ForEach(func(revision, value []byte) error {
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(value, &kv); err != nil {
				return fmt.Errorf("%s: a value does not parse: %w", path, err)
			}
			each(Change{Revision: mvcc.BytesToRev(revision).Main, Key: string(kv.Key), Value: kv.Value, Deleted: mvcc.IsTombstone(revision)})
			return nil
		})
	})
}
