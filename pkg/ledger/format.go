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

// stored is the part of the config key about the form of the store.
type stored struct {
	// Format is the highest migration that has been carried out, FirstFormat before the first one.
	Format int `json:"format"`
	// LeastReader is the least format that a program must know to read and write the store.
	LeastReader   int `json:"leastReader"`
	HashAlgorithm int `json:"hashAlgorithm"`
	// Key is the one that internal values are encrypted with (encryption.Key), encrypted itself by the transformer of
	// Records; none: they are not encrypted.
	Key []byte `json:"key,omitempty"`
}

const (
	// FirstFormat is the lowest that this package reads. There is no migration from a store of a lower one.
	FirstFormat = 20
	// Format is the newest that this package knows: the number of its last migration, or FirstFormat.
	Format = FirstFormat
)

// checkFormat returns an ErrFormat where a program with these migrations must not read the store.
func (c stored) checkFormat(all []migration) error {
	if newest := newestFormat(all); c.LeastReader > newest {
		return formatError(fmt.Sprintf("the store is of format %d, for programs that know format %d or later, and this kubizone knows %d: "+
			"a newer kubizone has written it; start a version that knows it", c.Format, c.LeastReader, newest))
	}
	return CheckFirstFormat(c.Format)
}

// CheckFirstFormat returns an ErrFormat where the format of a store is lower than FirstFormat.
func CheckFirstFormat(format int) error {
	if format >= FirstFormat {
		return nil
	}
	return formatError(fmt.Sprintf("the store is of format %d, and the first that this kubizone reads is %d: "+
		"start the kubizone that wrote it, "+
		"export its zones with kubizone export, and load them into a new store with kubizone import", format, FirstFormat))
}

// formatError is an ErrFormat that says what the format is and what to do.
type formatError string

func (e formatError) Error() string { return string(e) }
func (formatError) Unwrap() error   { return ErrFormat }

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
	return endsError{apierrors.NewServiceUnavailable("a newer kubizone has taken the store over, and this server ends; " +
		"nothing was written: try again, and another server answers")}
}

type endsError struct{ *apierrors.StatusError }

func (endsError) Unwrap() error { return ErrFormat }

// A migration brings the store from one form to the next. Open carries out those that a store lacks, in order, before
// it reads anything else. One server at a time does so, and the others wait. Its lock ends with the server that has it
// (a lease), and each transaction compares the lock, so that two servers never write at once.
//
// How to add one: append it to migrations with the next number, raise Format, and write its Run in a file of its own.
//
//   - Run gets a migrating: client, layout and codecs, and commitLocked for its changes. export_test.go has what
//     rewrites the values under a prefix, and what owes ordinary work: the first that needs one takes it along.
//   - It must change nothing the second time: a server may be killed after any transaction, and the next one begins
//     the migration anew. It writes what is not yet as it shall be, and nothing else.
//   - It never changes what a zone contains: a serial changes in a decision of the law alone (I3). It owes the work
//     that must be decided anew: the cascade that carries the work out releases, adopts and raises serials as after
//     any write. It writes the zone's own keys first and owes then: a cascade passes over members that are younger
//     than its item.
//   - OldersMayWrite says that a program that knows no more than the migration before may go on reading and writing
//     beside and after it. Such a migration changes no key that belongs to a zone: servers remember those while the
//     zone stands at its revision (I5). Where it is false, the store's leastReader is raised before Run begins: older
//     programs refuse the store, and those that run end (FollowFormat) and are given olderEnd to do so.
//   - A new field of a stored object or of an internal value needs a migration with OldersMayWrite false, if only for
//     its number: a program that does not know the field drops it when it writes the value.
//
// How to test one: migrate_test.go has an example of each kind. SetFormat of test/store makes a store say that it is
// of the format before. The test puts the old form there by the raw client, starts a Server and compares keys, and does
// so once more with endsThere, which ends the first server in the middle.
type migration struct {
	Number         int
	Name           string
	OldersMayWrite bool
	// Run is nil where the announcement in the config key is all of it.
	Run func(context.Context, *migrating) error
}

// newestFormat returns the format that a program with these migrations knows.
func newestFormat(all []migration) int {
	if len(all) == 0 {
		return FirstFormat
	}
	return all[len(all)-1].Number
}

// leastReader returns the format that a program must know to read a store after all migrations.
func leastReader(all []migration) int {
	least := FirstFormat
	for _, m := range all {
		if !m.OldersMayWrite {
			least = m.Number
		}
	}
	return least
}
