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

// A migration brings the store from one form to the next. Those that a store lacks are
// carried out in order by Open, before anything else is read, by one server at a time:
// the others wait. Its lock ends with the server that has it (a lease), and each
// transaction compares the lock, so that two never write at once.
//
// How to add one: append it to migrations with the next number, raise Format (format.go), and
// write its run in a file of its own.
//
//   - run gets a migrating: client and layout (the client sees the keys as Layout writes
//     them, sealed or not), the codecs of Zones and Records, each to read a prefix page
//     by page, rewrite to change values there, write and commit for other changes, and owe
//     for ordinary work. When it begins no redo log stands that an older server has left.
//   - It must be worth nothing the second time: a server may be killed after any
//     transaction, and the next begins the migration anew. It writes what is not yet as
//     it shall be, and nothing else.
//   - It never changes what a zone contains: a serial changes in a decision of the law
//     alone (I3). What must be decided anew it owes: owe puts an outbox item, and the
//     cascade that carries it out releases, adopts and raises serials as after any write.
//     Write the zone's own keys first and owe then: a cascade passes over members that
//     are younger than its item.
//   - OldersMayWrite says that a program that knows no more than the migration before
//     may go on reading and writing beside and after it. Such a migration changes no key
//     that belongs to a zone: servers remember those while the zone stands at its revision
//     (I5). Where it is false, config's leastReader is raised before run begins: older
//     programs refuse the store, and those that run end (FollowFormat) and are given
//     olderEnd to do so.
//   - A new field of an internal value needs a migration too, if only for its number: an
//     older program that rewrites the value keeps what it does not know (layout/unknown.go), but
//     not in values that each write makes anew (what waits, debts, the sets of a cut, the
//     journal), nor in the rules of rules/, and never in a Zone, Record or Delegation: those
//     are protobuf, of which the generated code drops what it does not know. There
//     OldersMayWrite is false.
//
// How to test one: test/store's Old makes a store say that it is of the format before;
// the test puts the old form there by the raw client, starts a Server and compares keys,
// MustBeClean. Once more with Config.Fault "migration" that ends the first server
// there (migrate_test.go, endsThere).
type migration struct {
	Number         int
	Name           string
	OldersMayWrite bool
	// Run is nil where the announcement in the config key is all of it, or a later migration does it anew.
	Run func(context.Context, *migrating) error
}

// migrations in order of their numbers, without a gap.
var migrations = []migration{
	{Number: namesLeastReader, Name: "config names the least reader, and sealing is said by its keys alone"},
	{Number: 4, Name: "wildcards hold names", Run: rebuildHolders},
	{Number: 5, Name: "zones end after their delegation was withdrawn, and parents count no name server without an address", Run: countGlue},
	{Number: releasesRefused, Name: "records that an earlier version took in and that are refused now leave their zones", Run: releaseRefused},
	{Number: countsWithdrawn, Name: "zones whose delegation was withdrawn by an earlier version end too", Run: countWithdrawn},
	{Number: 8, Name: "hosts that the apex names by MX, SVCB and HTTPS are the zone's"}, // 11 notes them
	{Number: fillsLineage, Name: "zones note by which delegations they came to their names, and which zone encloses them", Run: fillLineage},
	{Number: countsRRsets, Name: "zones say how many RRsets they have, and mass deletions hold them back", Run: countRRsets},
	{Number: countsApexHosts, Name: "of hosts that the apex names by MX, SVCB and HTTPS those alone are the zone's that its own namespace names", Run: countApexHosts},
	{Number: spansDeleted, Name: "marks of removed RRsets say when the zone had them", Run: spanDeleted},
	{Number: mapsVersions, Name: "objects of one transaction have a resourceVersion each, and Delegations give rules beside those of Zones"}, // what was written before is lone, and stays as it is
}

const (
	// namesLeastReader is the first format in which config has a leastReader.
	namesLeastReader = 3
	// mapsVersions is the first format in which a resourceVersion is no revision of etcd, and a value may begin with an octet (package subrev).
	mapsVersions = 13
)

// newest is the format that a program with these migrations knows.
func newest(all []migration) int { return all[len(all)-1].Number }

// leastReader is the format that the migrations after one require a program to know.
func leastReader(all []migration, after int) (least int) {
	for _, m := range all {
		if m.Number > after && !m.OldersMayWrite {
			least = m.Number
		}
	}
	return least
}

const (
	// lockSeconds is how long the lock outlives a server that was killed.
	lockSeconds = 10
	// olderEnd is what older servers are given to end once config says that they must:
	// they are told by a watch.
	olderEnd = 5 * time.Second
	// migrationPage are keys that are read at once and migrationOps operations of one
	// transaction, which any etcd takes; migrationOctets bounds its values.
	migrationPage   = 500
	migrationOps    = 100
	migrationOctets = commit.MaxBatchOctets
)

// errLockLost: the lock went to another server, which goes on.
var errLockLost = errors.New("ledger: another server carries the migration out")

// migrate carries out what the store lacks, or waits until another server has.
func (l *Ledger) migrate(ctx context.Context, s *store) error {
	for {
		_, config, err := s.read(ctx)
		if err != nil || config.Format >= newest(s.migrations) {
			return err
		}
		if err := l.migrateLocked(ctx, s); err != nil && !errors.Is(err, errLockLost) {
			return err
		}
	}
}

func (l *Ledger) migrateLocked(ctx context.Context, s *store) error {
	session, err := concurrency.NewSession(s.client, concurrency.WithTTL(l.config.lockSeconds))
	if err != nil {
		return fmt.Errorf("ledger: locking the store for a migration: %w", err)
	}
	defer session.Close()
	lock := concurrency.NewMutex(session, l.mem.Layout.MigrationLock())
	klog.FromContext(ctx).Info("The store is of an older format; the first server migrates it, and others wait", "lock", l.mem.Layout.MigrationLock())
	if err := lock.Lock(ctx); err != nil {
		return fmt.Errorf("ledger: locking the store for a migration: %w", err)
	}
	m := &migrating{Ledger: l, lock: lock}
	_, config, err := s.read(ctx)
	if err != nil {
		return err
	}
	if leastReader(s.migrations, config.Format) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(l.config.olderEnd):
		}
	}
	if config.Format < mapsVersions {
		if err := carryOutLogs(ctx, m); err != nil { // which the other migrations and what follows read as part of the zones
			return err
		}
	}
	for _, step := range s.migrations {
		if step.Number <= config.Format {
			continue
		}
		klog.FromContext(ctx).Info("Migrating the store", "to", step.Number, "what", step.Name)
		if m.number, m.unread = step.Number, 0; step.Run != nil {
			if err := step.Run(ctx, m); err != nil {
				return fmt.Errorf("ledger: migration %d (%s): %w", step.Number, step.Name, err)
			}
		}
		if err := m.reached(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// migrating is what a migration works with.
type migrating struct {
	*Ledger
	number int
	lock   *concurrency.Mutex
	unread int
}

// leaveOut passes over an object that cannot be read, which stops no server from its
// start, as it stops no cascade (outbox/damaged.go). More than outbox.MaxDamaged in one migration are no
// damage: the encryption configuration is another one.
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

// commit sends a transaction that compares the lock too; false: another compare did not hold.
func (m *migrating) commit(ctx context.Context, cmps []clientv3.Cmp, ops ...clientv3.Op) (bool, error) {
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

// each reads what stands under a prefix, page by page, each at a revision of its own.
func (m *migrating) each(ctx context.Context, prefix string, f func(*mvccpb.KeyValue) error) error {
	return m.pages(ctx, prefix, func(kvs []*mvccpb.KeyValue) (bool, error) {
		for _, kv := range kvs {
			if err := f(kv); err != nil {
				return false, fmt.Errorf("%s: %w", kv.Key, err)
			}
		}
		return true, nil
	})
}

// pages reads a page again where f is not done with it.
func (m *migrating) pages(ctx context.Context, prefix string, f func([]*mvccpb.KeyValue) (done bool, err error)) error {
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

// rewrite gives the values under a prefix the form that f returns, nil to take the key
// away; where that is the value that stands there nothing is written. f may be asked
// again about one key.
func (m *migrating) rewrite(ctx context.Context, prefix string, f func(key string, value []byte) ([]byte, error)) error {
	return m.pages(ctx, prefix, func(kvs []*mvccpb.KeyValue) (bool, error) {
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
		return m.write(ctx, changes)
	})
}

// change is what a key that is at a revision, 0 for none, shall have as its value, nil to take it away.
type change struct {
	key   string
	rev   int64
	value []byte
}

// write carries out changes, of each key one, in as many transactions as they need. false: a key was not at
// its revision; changes before it may have been made.
func (m *migrating) write(ctx context.Context, changes []change) (bool, error) {
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
		if done, err := m.commit(ctx, cmps, ops...); !done || err != nil {
			return false, err
		}
		changes = changes[len(ops):]
	}
	return true, nil
}

// owe has a cascade decide anew what the scans find, which belongs to z or waits for it.
// Once the server runs it goes as after any write: in the order of S2.7, with a serial
// for each change, and z is unsettled meanwhile where it changes (S7.2). Of the scans of
// one zone in one migration there is one such work, whatever crashes.
func (m *migrating) owe(ctx context.Context, z *law.Zone, reason string, scans ...law.Scan) error {
	w := m.work(z, reason)
	w.Scans = scans
	return m.outbox(ctx, w)
}

// work is one for a zone, of which there is one in a migration.
func (m *migrating) work(z *law.Zone, reason string) law.Work {
	return law.Work{ID: fmt.Sprintf("%s%d-%s", outbox.MigrationID, m.number, z.UID), Reason: reason, View: z.View, By: z.Namespace, Since: m.mem.Now().Unix()}
}

// outbox puts a work there, unless an earlier try has.
func (m *migrating) outbox(ctx context.Context, w law.Work) error {
	key := m.mem.Layout.Outbox(w.ID)
	_, err := m.commit(ctx, []clientv3.Cmp{etcd.Absent(key)}, etcd.OpPut(key, layout.Encode(w)))
	return err
}

// reached says in config that a migration has been carried out.
func (m *migrating) reached(ctx context.Context, s *store) error {
	for {
		kv, config, err := s.read(ctx)
		if err != nil {
			return err
		}
		if kv == nil {
			return fmt.Errorf("ledger: %s is gone while the store is migrated: restore a backup", s.layout.Config())
		}
		config.Format = m.number
		value, err := s.edited(kv, config)
		if err != nil {
			return err
		}
		if done, err := m.commit(ctx, []clientv3.Cmp{etcd.RevisionIs(s.layout.Config(), kv.ModRevision)}, etcd.OpPut(s.layout.Config(), value)); done || err != nil {
			return err
		}
	}
}
