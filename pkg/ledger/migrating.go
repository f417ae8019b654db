// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/outbox"
)

const (
	// lockSeconds is the time for which the lock outlives a server that was killed.
	lockSeconds = 10
	// olderEnd is the time that older servers have to end once config says that they must. A watch tells them.
	olderEnd = 5 * time.Second
	// migrationPage bounds the keys that are read at once and written in one transaction, and migrationOctets the
	// values of the transaction, so that any etcd takes it.
	migrationPage   = 100
	migrationOctets = commit.MaxBatchOctets
)

// errLockLost says that the lock went to another server, which goes on.
var errLockLost = errors.New("another server carries the migration out")

// migrating is what a migration works with.
type migrating struct {
	*Ledger
	number int
	lock   *concurrency.Mutex
}

// commitLocked sends a transaction that compares the lock too; false: another compare did not hold.
func (m *migrating) commitLocked(ctx context.Context, cmps []clientv3.Cmp, ops ...clientv3.Op) (bool, error) {
	m.mem.Fault("migration")
	r, err := m.mem.Client.Txn(ctx).If(append(cmps, m.lock.IsOwner())...).Then(ops...).Else(clientv3.OpGet(m.lock.Key())).Commit()
	switch {
	case err != nil:
		return false, err
	case r.Succeeded:
		return true, nil
	case etcd.One(r.Responses[0]) == nil:
		return false, errLockLost
	}
	return false, nil
}

// rewriteValues writes the values that f returns for those under a prefix. f may be called again for a key, and
// returns a value that it has made as it is.
func (m *migrating) rewriteValues(ctx context.Context, prefix string, f func(key string, value []byte) ([]byte, error)) error {
	for key, end := prefix, clientv3.GetPrefixRangeEnd(prefix); ; {
		r, err := m.mem.Client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(migrationPage))
		if err != nil {
			return err
		}
		var cmps []clientv3.Cmp
		var ops []clientv3.Op
		octets := 0
		for _, kv := range r.Kvs {
			next, err := f(string(kv.Key), kv.Value)
			if err != nil {
				return fmt.Errorf("%s: %w", kv.Key, err)
			}
			if octets < migrationOctets && !bytes.Equal(next, kv.Value) {
				octets += len(kv.Key) + len(next)
				cmps, ops = append(cmps, etcd.RevisionIs(string(kv.Key), kv.ModRevision)), append(ops, etcd.OpPut(string(kv.Key), next))
			}
		}
		if len(ops) > 0 { // and the page is read again: a key was changed meanwhile, or there are more octets
			if _, err := m.commitLocked(ctx, cmps, ops...); err != nil {
				return err
			}
			continue
		}
		if !r.More {
			return nil
		}
		key = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}

// oweWork owes a cascade that decides anew what the scans find, which belongs to z or waits for it. When the server
// runs, the cascade goes as after any write: in the order of S2.7, with a serial for each change, and z is unsettled
// meanwhile where it changes (S7.2). There is one such work for each zone in a migration, whatever crashes.
func (m *migrating) oweWork(ctx context.Context, z *law.Zone, reason string, scans ...law.Scan) error {
	w := law.Work{ID: fmt.Sprintf("%s%d-%s", outbox.MigrationID, m.number, z.UID), Reason: reason, View: z.View, Scans: scans,
		By: z.Namespace, Since: m.mem.Now().Unix()}
	key := m.mem.Layout.Outbox(w.ID)
	_, err := m.commitLocked(ctx, []clientv3.Cmp{etcd.Absent(key)}, etcd.OpPut(key, layout.Encode(w)))
	return err
}
