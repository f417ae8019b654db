// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"k8s.io/klog/v2"

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
	// migrationPage bounds the keys that are read at once, and migrationOps the operations of one transaction, so
	// that any etcd takes it; migrationOctets bounds its values.
	migrationPage   = 500
	migrationOps    = 100
	migrationOctets = commit.MaxBatchOctets
)

// errLockLost says that the lock went to another server, which goes on.
var errLockLost = errors.New("another server carries the migration out")

// migrating is what a migration works with.
type migrating struct {
	*Ledger
	number int
	lock   *concurrency.Mutex
	unread int
}

// leaveOut leaves out an object that cannot be read. It keeps no server from its start, as it stops no cascade
// (outbox/damaged.go). More than outbox.MaxDamaged objects in one migration are no damage: then the encryption
// configuration is a wrong one.
func (m *migrating) leaveOut(ctx context.Context, key string, err error) error {
	if err == nil {
		return nil
	}
	if m.unread++; m.unread > outbox.MaxDamaged {
		return fmt.Errorf("more than %d objects cannot be read: %w", outbox.MaxDamaged, err)
	}
	klog.FromContext(ctx).Error(err, "The migration leaves out an object that cannot be read; run kubizone fsck", "key", key)
	return nil
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

// eachKey reads what stands under a prefix, page by page, each at a revision of its own.
func (m *migrating) eachKey(ctx context.Context, prefix string, f func(*mvccpb.KeyValue) error) error {
	return m.eachPage(ctx, prefix, func(kvs []*mvccpb.KeyValue) (bool, error) {
		for _, kv := range kvs {
			if err := f(kv); err != nil {
				return false, fmt.Errorf("%s: %w", kv.Key, err)
			}
		}
		return true, nil
	})
}

// eachPage reads a page again where f is not done with it.
func (m *migrating) eachPage(ctx context.Context, prefix string, f func([]*mvccpb.KeyValue) (done bool, err error)) error {
	for key, end := prefix, clientv3.GetPrefixRangeEnd(prefix); ; {
		r, err := m.mem.Client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(migrationPage))
		if err != nil {
			return err
		}
		done, err := f(r.Kvs)
		if err != nil || done && !r.More {
			return err
		}
		if done {
			key = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
		}
	}
}

// rewriteValues writes the values that f returns for those under a prefix; nil removes the key. It writes nothing
// where the value stays. f may be called again for one key.
func (m *migrating) rewriteValues(ctx context.Context, prefix string, f func(key string, value []byte) ([]byte, error)) error {
	return m.eachPage(ctx, prefix, func(kvs []*mvccpb.KeyValue) (bool, error) {
		var changes []change
		for _, kv := range kvs {
			next, err := f(string(kv.Key), kv.Value)
			if err != nil {
				return false, fmt.Errorf("%s: %w", kv.Key, err)
			}
			if next == nil || string(next) != string(kv.Value) {
				changes = append(changes, change{string(kv.Key), kv.ModRevision, next})
			}
		}
		return m.writeChanges(ctx, changes)
	})
}

// change is the value that a key at a revision, 0 for none, is to have; nil removes the key.
type change struct {
	key   string
	rev   int64
	value []byte
}

// writeChanges carries out changes of different keys, in as many transactions as they need. It returns false where a
// key was not at its revision; earlier changes may have been made.
func (m *migrating) writeChanges(ctx context.Context, changes []change) (bool, error) {
	for len(changes) > 0 {
		var cmps []clientv3.Cmp
		var ops []clientv3.Op
		for octets := 0; len(ops) < min(len(changes), migrationOps) && (octets == 0 || octets < migrationOctets); {
			c := changes[len(ops)]
			op := clientv3.OpDelete(c.key)
			if c.value != nil {
				op = etcd.OpPut(c.key, c.value)
			}
			octets += len(c.key) + len(c.value)
			cmps, ops = append(cmps, etcd.RevisionIs(c.key, c.rev)), append(ops, op)
		}
		if done, err := m.commitLocked(ctx, cmps, ops...); !done || err != nil {
			return false, err
		}
		changes = changes[len(ops):]
	}
	return true, nil
}

// oweWork owes a cascade that decides anew what the scans find, which belongs to z or waits for it. When the server
// runs, the cascade goes as after any write: in the order of S2.7, with a serial for each change, and z is unsettled
// meanwhile where it changes (S7.2). There is one such work for each zone in a migration, whatever crashes.
func (m *migrating) oweWork(ctx context.Context, z *law.Zone, reason string, scans ...law.Scan) error {
	w := m.workOf(z, reason)
	w.Scans = scans
	return m.putWork(ctx, w)
}

// workOf returns the one work that a migration owes for a zone.
func (m *migrating) workOf(z *law.Zone, reason string) law.Work {
	return law.Work{ID: fmt.Sprintf("%s%d-%s", outbox.MigrationID, m.number, z.UID), Reason: reason, View: z.View, By: z.Namespace, Since: m.mem.Now().Unix()}
}

// putWork writes a work, unless an earlier try has.
func (m *migrating) putWork(ctx context.Context, w law.Work) error {
	key := m.mem.Layout.Outbox(w.ID)
	_, err := m.commitLocked(ctx, []clientv3.Cmp{etcd.Absent(key)}, etcd.OpPut(key, layout.Encode(w)))
	return err
}
