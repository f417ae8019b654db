// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/encoding/protowire"

	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// Before format 13 a Record had a transaction to itself. The first Record of a batch was written with the zone. For
// each of the others that transaction made an entry of a redo log and a reservation, which the write of the Record
// removed. A server that was killed left them. The migration carries them out before anything else, and no later code
// reads them.

// redoLog is the value under logs/: the messages `repeated Entry = 1; Entry { string key = 1; bytes value = 2; }`.
type redoLog struct {
	Entries []logEntry
}

// logEntry is one record as it is to stand, encoded for storage; Value nil: deleted.
type logEntry struct {
	Key   string
	Value []byte
}

// decodeLog reads a redo log; the entries are parts of data.
func decodeLog(data []byte) (log redoLog, err error) {
	err = eachField(data, func(_ protowire.Number, entry []byte) error {
		var e logEntry
		if err := eachField(entry, func(field protowire.Number, v []byte) error {
			if field == 1 {
				e.Key = string(v)
			} else {
				e.Value = v
			}
			return nil
		}); err != nil {
			return err
		}
		if e.Key == "" {
			return errors.New("an entry of a redo log names no record")
		}
		log.Entries = append(log.Entries, e)
		return nil
	})
	return log, err
}

// eachField calls take for each field of a message whose fields are all octets.
func eachField(data []byte, take func(protowire.Number, []byte) error) error {
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		v, m := protowire.ConsumeBytes(data[n:])
		if m < 0 {
			return protowire.ParseError(m)
		}
		if kind != protowire.BytesType || field > 2 {
			return fmt.Errorf("a redo log has field %d of type %d", field, kind)
		}
		if err := take(field, v); err != nil {
			return err
		}
		data = data[n+m:]
	}
	return nil
}

// asOperation returns the operation that an entry stands for.
func (e logEntry) asOperation() clientv3.Op {
	if e.Value == nil {
		return clientv3.OpDelete(e.Key)
	}
	return etcd.OpPut(e.Key, e.Value)
}

// carryOutLogs writes the Records of each log whose reservation still stands, and removes log and reservations.
func carryOutLogs(ctx context.Context, m *migrating) error {
	return m.eachKey(ctx, m.mem.Layout.Room("logs"), func(kv *mvccpb.KeyValue) error {
		log, err := decodeLog(kv.Value)
		if err != nil {
			return layout.Unreadable(string(kv.Key), err)
		}
		for _, e := range log.Entries {
			reserved := m.mem.Layout.Room("reserved") + strings.TrimPrefix(e.Key, m.mem.Layout.Objects("records"))
			// Where the compare does not hold the Record was written, and may have been changed since.
			if _, err := m.commitLocked(ctx, []clientv3.Cmp{etcd.RevisionIs(reserved, kv.ModRevision)}, e.asOperation(), clientv3.OpDelete(reserved)); err != nil {
				return err
			}
		}
		_, err = m.commitLocked(ctx, nil, clientv3.OpDelete(string(kv.Key)))
		return err
	})
}
