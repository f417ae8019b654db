// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"kubi.zone/kubizone/pkg/ledger/etcd"
)

const (
	// lockSeconds is the time for which the lock outlives a server that was killed.
	lockSeconds = 10
	// olderEnd is the time that older servers have to end once config says that they must. A watch tells them.
	olderEnd = 5 * time.Second
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
