// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// stored is what the config key says of the form of the store; see cluster.go for the rest.
//
// A store of the first two formats has no leastReader: those programs compare format
// alone, 1 for plain internal keys and 2 for sealed ones.
type stored struct {
	// Format is the highest migration that has been carried out.
	Format int `json:"format"`
	// LeastReader is the least format that a program must know to read and write the store.
	LeastReader   int `json:"leastReader,omitempty"`
	HashAlgorithm int `json:"hashAlgorithm"`
	// Keys that the internal keys are sealed with (sealed.Keys), encrypted by the
	// transformer of Records; none: they are not.
	Keys []byte `json:"keys,omitempty"`
}

// Formats before the config key named the least reader.
const (
	plainFormat  = 1
	sealedFormat = 2
	// Format is the newest that this package knows: the number of its last migration.
	Format = mapsVersions
)

func (c stored) leastReader() int {
	if c.LeastReader == 0 {
		return c.Format
	}
	return c.LeastReader
}

// mayRead returns ErrFormat where a program with these migrations knows too little of the form.
func (c stored) mayRead(all []migration) error {
	if least := c.leastReader(); least > newest(all) {
		return fmt.Errorf("ledger: the store is of format %d, for programs that know format %d or later, and this kubizone knows %d: %w; start a version that knows it", c.Format, least, newest(all), ErrFormat)
	}
	return nil
}

// announce is the config with which the migrations that the store lacks may begin: a
// program that must not see what they do reads so before they do it.
func (c stored) announce(all []migration) stored {
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
		return nil, outgrown()
	}
	return f.KV.Delete(ctx, key, opts...)
}

// refused is a transaction that is not sent.
type refused struct{}

func (r refused) If(...clientv3.Cmp) clientv3.Txn        { return r }
func (r refused) Then(...clientv3.Op) clientv3.Txn       { return r }
func (r refused) Else(...clientv3.Op) clientv3.Txn       { return r }
func (r refused) Commit() (*clientv3.TxnResponse, error) { return nil, outgrown() }

// outgrown is what clients of a server read that is about to end.
func outgrown() error {
	return endsError{apierrors.NewServiceUnavailable("a newer kubizone has taken the store over, and this server ends; nothing was written: try again, and another server answers")}
}

type endsError struct{ *apierrors.StatusError }

func (endsError) Unwrap() error { return ErrFormat }

// FollowFormat returns ErrFormat when a newer version has taken the store over and
// this program must not read it any more; from then on this ledger sends etcd no
// transaction, also where a caller asks it for one. It returns nil when ctx ends.
func (l *Ledger) FollowFormat(ctx context.Context) error {
	s := &store{client: l.mem.Client, layout: l.mem.Layout, migrations: l.config.migrations}
	for ctx.Err() == nil {
		// From before the reading on: nothing between both is missed.
		following, cancel := context.WithCancel(ctx)
		changes := l.mem.Client.Watch(following, l.mem.Layout.Config())
		for again := true; again; {
			_, _, err := s.read(ctx)
			if errors.Is(err, ErrFormat) {
				l.outgrown.Store(true)
				cancel()
				return err
			}
			if err != nil {
				break
			}
			r, open := <-changes
			again = open && r.Err() == nil
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}
