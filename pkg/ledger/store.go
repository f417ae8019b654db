// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/ledger/encryption"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// CheckFormat returns ErrFormat where this program must not read the store. It reads one key and writes nothing, so a
// server asks it before it does anything else to etcd.
func CheckFormat(ctx context.Context, client *clientv3.Client, prefix string) error {
	_, _, err := newStore(client, prefix, nil, migrations).readConfig(ctx)
	return err
}

// ReadStore returns the client that sees internal values unencrypted, and versions for revisions. It writes nothing. A
// config key that is missing or damaged is left to fsck. Errors: ErrFormat, ErrEncrypted, and errors of etcd.
func ReadStore(ctx context.Context, client *clientv3.Client, prefix string, transformer value.Transformer) (*clientv3.Client, error) {
	s := newStore(client, prefix, transformer, migrations)
	r, err := s.client.Get(ctx, s.layout.Config())
	if err != nil {
		return nil, fmt.Errorf("reading the format: %w", err)
	}
	var config stored
	if len(r.Kvs) == 0 || json.Unmarshal(r.Kvs[0].Value, &config) != nil || config.Format == 0 {
		return s.client, nil
	}
	if err := config.checkFormat(s.migrations); err != nil {
		return nil, err
	}
	if len(config.Key) == 0 {
		return s.client, nil
	}
	opened, _, _, err := s.decryptingClient(ctx, config)
	return opened, err
}

// store is one that is being opened.
type store struct {
	client      *clientv3.Client // speaks of versions, as all do that are made of it
	layout      layout.Keys
	transformer value.Transformer
	migrations  []migration // that this program knows
}

// newStore returns a store over a client that speaks of etcd's revisions.
func newStore(client *clientv3.Client, prefix string, transformer value.Transformer, known []migration) *store {
	return &store{client: versionedClient(client, Versions(prefix)), layout: layout.Keys{Prefix: prefix}, transformer: transformer,
		migrations: known}
}

// openStore checks that this program may read and write the store, writes the format into an empty one, and returns the
// client that sees internal values unencrypted, and versions for revisions. It carries no migration out, which Open
// does. Where the transformer of Records encrypts, internal values are encrypted as they are written. Where another
// provider of it is first than the one that the store's key was encrypted by, the key is written anew, so that the old
// provider can be taken away. Errors: ErrFormat, ErrEncrypted, and what etcd says.
func (s *store) openStore(ctx context.Context) (*clientv3.Client, error) {
	for {
		opened, done, err := s.tryOpen(ctx)
		if done || err != nil {
			return opened, err
		}
	}
}

// readConfig returns what stands in the config key; nil where the store is empty.
func (s *store) readConfig(ctx context.Context) (*mvccpb.KeyValue, stored, error) {
	var config stored
	r, err := s.client.Get(ctx, s.layout.Config())
	if err != nil {
		return nil, config, fmt.Errorf("reading the format: %w", err)
	}
	if len(r.Kvs) == 0 {
		return nil, config, nil
	}
	if err := json.Unmarshal(r.Kvs[0].Value, &config); err != nil {
		return nil, config, fmt.Errorf("%s does not parse (%w): this is no data of kubizone", s.layout.Config(), err)
	}
	if err := config.checkFormat(s.migrations); err != nil {
		return nil, config, err
	}
	if config.HashAlgorithm != sethash.Algorithm {
		return nil, config, formatError(fmt.Sprintf("the store has hash algorithm %d, and this kubizone knows %d: "+
			"another kubizone has written it; start a version that knows it", config.HashAlgorithm, sethash.Algorithm))
	}
	return r.Kvs[0], config, nil
}

// tryOpen tries once to open the store. done is false where another server wrote meanwhile.
func (s *store) tryOpen(ctx context.Context) (_ *clientv3.Client, done bool, err error) {
	kv, config, err := s.readConfig(ctx)
	if err != nil {
		return nil, false, err
	}
	encrypts, err := encryption.Encrypts(ctx, s.transformer)
	if err != nil {
		return nil, false, fmt.Errorf("trying the encryption of the store: %w", err)
	}
	if kv == nil {
		config = stored{Format: newestFormat(s.migrations), LeastReader: leastReader(s.migrations), HashAlgorithm: sethash.Algorithm}
	} else if least := leastReader(s.migrations); least > config.LeastReader {
		// A program that must not see what the migrations do finds so in config before they begin.
		config.LeastReader = least
		_, err := s.writeConfig(ctx, kv, config)
		return nil, false, err
	}
	switch {
	case len(config.Key) > 0:
	case encrypts:
		_, err := s.wrapKey(ctx, kv, config, encryption.NewKey(kv != nil))
		return nil, false, err
	case kv == nil:
		done, err := s.writeConfig(ctx, kv, config)
		return s.client, done, err
	default:
		return s.client, true, nil
	}
	opened, key, stale, err := s.decryptingClient(ctx, config)
	if err != nil {
		return nil, false, err
	}
	if stale { // a server that was faster has done the same
		if _, err := s.wrapKey(ctx, kv, config, key); err != nil {
			return nil, false, err
		}
	}
	s.warnReadable(ctx, key, encrypts)
	return opened, true, nil
}

// wrapKey writes the store's key as the transformer would have it. It returns false where another server wrote
// meanwhile.
func (s *store) wrapKey(ctx context.Context, kv *mvccpb.KeyValue, config stored, key encryption.Key) (bool, error) {
	var err error
	if config.Key, err = key.Wrap(ctx, s.transformer, s.layout.Config()); err != nil {
		return false, fmt.Errorf("encrypting the key of the store: %w", err)
	}
	return s.writeConfig(ctx, kv, config)
}

// writeConfig replaces the config key. It returns false where another server wrote meanwhile.
func (s *store) writeConfig(ctx context.Context, kv *mvccpb.KeyValue, config stored) (bool, error) {
	key := s.layout.Config()
	r, err := s.client.Txn(ctx).If(etcd.RevisionIs(key, etcd.ModRevision(kv))).Then(etcd.OpPut(key, layout.Encode(config))).Commit()
	if err != nil {
		return false, fmt.Errorf("writing the format: %w", err)
	}
	return r.Succeeded, nil
}

// decryptingClient makes the client of a store that has a key.
func (s *store) decryptingClient(ctx context.Context, config stored) (*clientv3.Client, encryption.Key, bool, error) {
	key, stale, err := encryption.Unwrap(ctx, s.transformer, s.layout.Config(), config.Key)
	if err != nil {
		return nil, key, false, fmt.Errorf("%w (%w): --encryption-provider-config must name a file that has for records.kubi.zone the "+
			"provider and key of the last start", ErrEncrypted, err)
	}
	client, err := encryption.NewClient(s.client, key, s.layout.Internal(), s.layout.Config())
	return client, key, stale, err
}

// warnReadable logs what stays readable in etcd, but keys.
func (s *store) warnReadable(ctx context.Context, key encryption.Key, encrypts bool) {
	switch {
	case !encrypts:
		klog.FromContext(ctx).Info("Warning: the encryption configuration encrypts nothing that is written to records.kubi.zone, "+
			"so the key of this store stands unencrypted in etcd", "key", s.layout.Config())
	case key.Mixed:
		klog.FromContext(ctx).Info("Warning: this store was made without encryption. Values are encrypted as they are written, "+
			"but older ones of the ledger's own keys stay readable; to have them encrypted, kubizone export every zone and import it "+
			"into a new store that has the encryption configuration from its first start", "prefix", s.layout.Internal())
	}
}

// ErrEncrypted is returned by Open when the encryption configuration does not decrypt the key of the store.
var ErrEncrypted = errors.New("the data is encrypted, and this encryption configuration does not decrypt it")

// FollowFormat returns ErrFormat when a newer version has taken the store over and
// this program must not read it any more, or another server has begun to encrypt it;
// from then on this ledger sends etcd no transaction, also where a caller asks it for
// one. It returns nil when ctx ends.
func (l *Ledger) FollowFormat(ctx context.Context) error {
	s := &store{client: l.mem.Client, layout: l.mem.Layout, migrations: l.bounds.migrations}
	for ctx.Err() == nil {
		// From before the reading on: nothing between both is missed.
		following, cancel := context.WithCancel(ctx)
		changes := l.mem.Client.Watch(following, l.mem.Layout.Config())
		for again := true; again; {
			_, config, err := s.readConfig(ctx)
			if err == nil && l.plain && len(config.Key) > 0 {
				err = formatError("the store is encrypted since this server started, so it does not read what others write: " +
					"start it again, with their --encryption-provider-config")
			}
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
