// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/ledger"
)

// read fills in what the snapshot at path says of itself. A server could be asked, but would answer for another moment.
func (m *Manifest) read(path string) error {
	db, err := bbolt.Open(path, 0o400, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("%s is no snapshot of etcd: %w", path, err)
	}
	defer db.Close()
	layout := ledger.Layout{Prefix: apiserver.Prefix}
	zones, records := map[string]bool{}, map[string]bool{}
	var config []byte
	err = db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(schema.Key.Name())
		if bucket == nil {
			return fmt.Errorf("%s is no snapshot of etcd: it has no keys", path)
		}
		return bucket.ForEach(func(revision, value []byte) error { // in the order of revisions
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(value, &kv); err != nil {
				return fmt.Errorf("%s: a value does not parse: %w", path, err)
			}
			m.Revision = mvcc.BytesToRev(revision).Main
			key, gone := string(kv.Key), mvcc.IsTombstone(revision)
			for prefix, live := range map[string]map[string]bool{layout.Objects("zones"): zones, layout.Objects("records"): records} {
				if !strings.HasPrefix(key, prefix) {
					continue
				}
				if gone {
					delete(live, key)
				} else {
					live[key] = true
				}
			}
			if key == layout.Config() && !gone {
				config = kv.Value
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	var format struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(config, &format); err != nil || format.Format == 0 {
		return fmt.Errorf("%s holds no data of kubizone: %s is %q; is this the right etcd?", path, layout.Config(), config)
	}
	m.Format, m.Zones, m.Records = format.Format, len(zones), len(records)
	return nil
}
