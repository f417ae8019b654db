// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"
)

// Change is a write or a deletion of a key at a revision.
type Change struct {
	Revision int64
	Key      string
	Value    []byte // valid only during the call
	Deleted  bool
}

// ReadSnapshot calls visit for every change of a key in a snapshot file, lowest revision first. After a compaction, a
// snapshot may contain only the last change of a key. If the file is damaged, ReadSnapshot stops with an error.
func ReadSnapshot(path string, visit func(Change)) error {
	return readSnapshot(path, func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(schema.Key.Name())
		if bucket == nil {
			return errors.New("it has no keys")
		}
		return bucket.ForEach(func(revision, value []byte) error {
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(value, &kv); err != nil {
				return fmt.Errorf("a value does not parse: %w", err)
			}
			visit(Change{Revision: mvcc.BytesToRev(revision).Main, Key: string(kv.Key), Value: kv.Value,
				Deleted: mvcc.IsTombstone(revision)})
			return nil
		})
	})
}

// CheckSnapshot returns an error if a page of the snapshot file is damaged. A restore of such a file would panic in
// etcd.
func CheckSnapshot(path string) error {
	file, err := os.Stat(path)
	if err != nil {
		return err
	}
	return readSnapshot(path, func(tx *bbolt.Tx) error {
		if tx.Size() > file.Size() {
			return fmt.Errorf("it has %d octets, and its pages %d", file.Size(), tx.Size())
		}
		// Read the whole file here first: Check runs in its own goroutine, where a fault at an invalid address would
		// end the process.
		sum := crc32.NewIEEE()
		err := tx.ForEach(func(_ []byte, bucket *bbolt.Bucket) error {
			return bucket.ForEach(func(key, value []byte) error {
				sum.Write(key)
				sum.Write(value)
				return nil
			})
		})
		for fault := range tx.Check() {
			if err == nil {
				err = fault
			}
		}
		return err
	})
}

// readSnapshot calls readTx with a transaction of the snapshot file. bbolt trusts the file's content, so panics and
// memory faults are recovered and returned as errors.
func readSnapshot(path string, readTx func(*bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%s is damaged: %v; take another backup", path, fault)
		}
	}()
	db, err := bbolt.Open(path, 0o400, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("%s is no snapshot of etcd: %w", path, err)
	}
	defer db.Close()
	if err := db.View(readTx); err != nil {
		return fmt.Errorf("%s is damaged: %w; take another backup", path, err)
	}
	return nil
}
