// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// stored is the part of the config key about the form of the store. A store of the first two
// formats has no leastReader: programs of that time compare format alone, 1 for plain internal keys and 2 for sealed
// ones.
type stored struct {
	// Format is the highest migration that has been carried out.
	Format int `json:"format"`
	// LeastReader is the least format that a program must know to read and write the store.
	LeastReader   int `json:"leastReader,omitempty"`
	HashAlgorithm int `json:"hashAlgorithm"`
	// Keys are those that the internal keys are sealed with (sealed.Keys), encrypted by the transformer of Records;
	// none: they are not sealed.
	Keys []byte `json:"keys,omitempty"`
}

// These formats are older than leastReader.
const (
	plainFormat  = 1
	sealedFormat = 2
	// Format is the newest that this package knows: the number of its last migration.
	Format = countsSpeakers
)

func (c stored) leastReader() int {
	if c.LeastReader == 0 {
		return c.Format
	}
	return c.LeastReader
}

// mayRead returns ErrFormat where a program with these migrations knows too little of the form.
func (c stored) mayRead(all []migration) error {
	if least := c.leastReader(); least > newestFormat(all) {
		return fmt.Errorf("the store is of format %d, for programs that know format %d or later, and this kubizone knows %d: %w; start a version that knows it", c.Format, least, newestFormat(all), ErrFormat)
	}
	return nil
}

// announceMigrations returns the config with which the migrations that the store lacks may begin: a program that must
// not see what they do finds so in config before they do it.
func (c stored) announceMigrations(all []migration) stored {
	c.LeastReader = max(c.leastReader(), leastReader(all, c.Format))
	if c.Format < namesLeastReader {
		c.Format = namesLeastReader // the migration of that number is this very write
	}
	return c
}

// fenced is the KV of a ledger that writes nothing once a newer version has taken the store over.
type fenced struct {
	clientv3.KV
	outgrown *atomic.Bool
}

func (f fenced) Txn(ctx context.Context) clientv3.Txn {
	if f.outgrown.Load() {
		return refused{}
	}
	return f.KV.Txn(ctx)
}

func (f fenced) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	if f.outgrown.Load() {
		return nil, outgrownError()
	}
	return f.KV.Delete(ctx, key, opts...)
}

// refused is a transaction that is not sent.
type refused struct{}

func (r refused) If(...clientv3.Cmp) clientv3.Txn        { return r }
func (r refused) Then(...clientv3.Op) clientv3.Txn       { return r }
func (r refused) Else(...clientv3.Op) clientv3.Txn       { return r }
func (r refused) Commit() (*clientv3.TxnResponse, error) { return nil, outgrownError() }

// outgrownError is the error for clients of a server that is about to end because a newer version has the store.
func outgrownError() error {
	return endsError{apierrors.NewServiceUnavailable("a newer kubizone has taken the store over, and this server ends; nothing was written: try again, and another server answers")}
}

type endsError struct{ *apierrors.StatusError }

func (endsError) Unwrap() error { return ErrFormat }

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
//     alone (I3). It owes the work that must be decided anew: owe puts an outbox item, and the
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
//     not in values that each write makes anew (what waits, pending cuts, the sets of a cut, the
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

// newestFormat returns the format that a program with these migrations knows.
func newestFormat(all []migration) int { return all[len(all)-1].Number }

// leastReader returns the format that the migrations after one require a program to know.
func leastReader(all []migration, after int) (least int) {
	for _, m := range all {
		if m.Number > after && !m.OldersMayWrite {
			least = m.Number
		}
	}
	return least
}

const (
	// namesLeastReader is the first format in which config has a leastReader.
	namesLeastReader = 3
	// mapsVersions is the first format in which a resourceVersion is no revision of etcd, and a value may begin with
	// an octet (package subrev).
	mapsVersions = 13
	// derivesDS is the first format in which zones contain the DS of their children.
	derivesDS = 14
	// countsSpeakers is the first format in which underscore names hold the names below their base.
	countsSpeakers = 15
)
