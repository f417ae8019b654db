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

	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/ledger/encryption"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

func CheckFormat(ctx context.Context, client *clientv3.Client, prefix string) error {
	_, _, err := newStore(client, prefix, nil, migrations).readConfig(ctx)
	return err
}

// ReadStore returns a client for fsck that decrypts internal values and returns versions (resourceVersions) instead of
// revisions. An unknown format is an error, but a damaged or missing config key is not, since fsck reports the damage.
func ReadStore(ctx context.Context, client *clientv3.Client, prefix string, transformer value.Transformer) (*clientv3.Client, error) {
	s := newStore(client, prefix, transformer, migrations)
	r, err := s.client.Get(ctx, s.layout.Config())
	if err != nil {
		return nil, fmt.Errorf("reading the format: %w", err)
	}
	var config storeConfig
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

type store struct {
	client      *clientv3.Client // maps revisions to versions
	layout      layout.Keys
	transformer value.Transformer
	migrations  []migration
}

func newStore(client *clientv3.Client, prefix string, transformer value.Transformer, known []migration) *store {
	return &store{client: versionedClient(client, Versions(prefix)), layout: layout.Keys{Prefix: prefix}, transformer: transformer,
		migrations: known}
}

// openStore returns a client like ReadStore's, and writes the format of an empty store. The client encrypts if the
// transformer of Records does. If the transformer's first provider did not encrypt the store's key, openStore encrypts
// the key again, so that old providers can be removed.
func (s *store) openStore(ctx context.Context) (*clientv3.Client, error) {
	for {
		opened, done, err := s.tryOpen(ctx)
		if done || err != nil {
			return opened, err
		}
	}
}

// readConfig reads the config key of the store, nil for an empty store. The error is ErrFormat if this program cannot
// read the store.
func (s *store) readConfig(ctx context.Context) (*mvccpb.KeyValue, storeConfig, error) {
	var config storeConfig
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
		// Every status.hash would differ from the content, so each zone would count as damaged.
		return nil, config, formatError(fmt.Sprintf("the store has hash algorithm %d, and this kubizone knows %d: "+
			"another kubizone has written it; start a version that knows it", config.HashAlgorithm, sethash.Algorithm))
	}
	return r.Kvs[0], config, nil
}

// tryOpen makes a step of openStore: it writes the config key and returns false, or returns the client and true. If
// another server changes the key meanwhile, the next try sees the change.
func (s *store) tryOpen(ctx context.Context) (_ *clientv3.Client, done bool, err error) {
	// 1. Read the format, and try the encryption.
	kv, config, err := s.readConfig(ctx)
	if err != nil {
		return nil, false, err
	}
	encrypts, err := encryption.Encrypts(ctx, s.transformer)
	if err != nil {
		return nil, false, fmt.Errorf("trying the encryption of the store: %w", err)
	}

	// 2. Raise leastReader if a migration needs it.
	if kv == nil {
		config = storeConfig{Format: newestFormat(s.migrations), LeastReader: leastReader(s.migrations), HashAlgorithm: sethash.Algorithm}
	} else if least := leastReader(s.migrations); least > config.LeastReader {
		// Older programs must see the new value before the migrations begin.
		config.LeastReader = least
		_, err := s.writeConfig(ctx, kv, config)
		return nil, false, err
	}

	// 3. Find or make the key by which internal values are encrypted.
	switch {
	case len(config.Key) > 0:
	case encrypts:
		// Not encrypted until now, or empty. The older values of a store with data stay readable (Mixed).
		_, err := s.wrapKey(ctx, kv, config, encryption.NewKey(kv != nil))
		return nil, false, err
	case kv == nil:
		done, err := s.writeConfig(ctx, kv, config)
		return s.client, done, err
	default:
		return s.client, true, nil
	}

	// 4. Decrypt the key. A key of an old provider is encrypted again by the first.
	opened, key, stale, err := s.decryptingClient(ctx, config)
	if err != nil {
		return nil, false, err
	}
	if stale {
		if _, err := s.wrapKey(ctx, kv, config, key); err != nil {
			return nil, false, err
		}
	}

	s.warnPlaintext(ctx, key, encrypts)
	return opened, true, nil
}

func (s *store) wrapKey(ctx context.Context, kv *mvccpb.KeyValue, config storeConfig, key encryption.Key) (bool, error) {
	var err error
	if config.Key, err = key.Wrap(ctx, s.transformer, s.layout.Config()); err != nil {
		return false, fmt.Errorf("encrypting the key of the store: %w", err)
	}
	return s.writeConfig(ctx, kv, config)
}

func (s *store) writeConfig(ctx context.Context, kv *mvccpb.KeyValue, config storeConfig) (bool, error) {
	key := s.layout.Config()
	r, err := s.client.Txn(ctx).If(etcd.RevisionIs(key, kv.GetModRevision())).Then(etcd.OpPut(key, layout.Encode(config))).Commit()
	if err != nil {
		return false, fmt.Errorf("writing the format: %w", err)
	}
	return r.Succeeded, nil
}

func (s *store) decryptingClient(ctx context.Context, config storeConfig) (*clientv3.Client, encryption.Key, bool, error) {
	key, stale, err := encryption.Unwrap(ctx, s.transformer, s.layout.Config(), config.Key)
	if err != nil {
		return nil, key, false, fmt.Errorf("%w (%w): --encryption-provider-config must name a file that has for records.kubi.zone the "+
			"provider and key of the last start", ErrEncrypted, err)
	}
	client, err := encryption.NewClient(s.client, key, s.layout.Internal(), s.layout.Config())
	return client, key, stale, err
}

func (s *store) warnPlaintext(ctx context.Context, key encryption.Key, encrypts bool) {
	switch {
	case !encrypts:
		klog.FromContext(ctx).Info("Warning: the encryption configuration encrypts nothing that is written to records.kubi.zone, "+
			"so the key of this store stands unencrypted in etcd", "key", s.layout.Config())
	case key.Mixed:
		klog.FromContext(ctx).Info("Warning: this store was made without encryption. Values are encrypted as they are written, "+
			"but older ones of the ledger's own keys stay readable; to have them encrypted, export every zone (kubectl kubizone export) "+
			"and import it into a new store that has the encryption configuration from its first start", "prefix", s.layout.Internal())
	}
}

var ErrEncrypted = errors.New("the data is encrypted, and this encryption configuration does not decrypt it")

// FollowFormat watches the format until ctx ends, and then returns nil. If a newer version takes over the store, or
// another server begins to encrypt a store opened unencrypted here, FollowFormat stops the ledger's writes and returns
// ErrFormat.
func (l *Ledger) FollowFormat(ctx context.Context) error {
	s := &store{client: l.mem.Client, layout: l.mem.Layout, migrations: l.bounds.migrations}
	for ctx.Err() == nil {
		if err := l.watchFormat(ctx, s); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

// watchFormat returns ErrFormat, or nil if the watch or a read fails.
func (l *Ledger) watchFormat(ctx context.Context, s *store) error {
	// Watch before reading, so that no change is missed.
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	changes := l.mem.Client.Watch(watching, l.mem.Layout.Config())
	for {
		_, config, err := s.readConfig(ctx)
		isNowEncrypted := err == nil && l.startedUnencrypted && len(config.Key) > 0
		if isNowEncrypted {
			err = formatError("another server has begun to encrypt the store, and this server cannot read its values: restart it " +
				"with the same --encryption-provider-config")
		}
		if errors.Is(err, ErrFormat) {
			l.superseded.Store(true)
			return err
		}
		if err != nil {
			return nil
		}

		// Each change of the config key is a migration, or another server's encryption.
		r, open := <-changes
		if !open || r.Err() != nil {
			return nil
		}
	}
}
