// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/ledger/sealed"
)

// stored is what the config key says of the format; see cluster.go for the rest.
type stored struct {
	Format        int `json:"format"`
	HashAlgorithm int `json:"hashAlgorithm"`
	// Keys that the internal keys are sealed with (sealed.Keys), encrypted by the
	// transformer of Records; none: they are not.
	Keys []byte `json:"keys,omitempty"`
}

// OpenStore checks the stored format, writes it into an empty store, and returns
// the client that sees the internal keys as Layout writes them. transformer is
// that of Records, nil for none: where it encrypts, an empty store is sealed, and
// one made without has its values sealed from now on. Where another provider of
// it is first than the one the store's keys were encrypted by, they are written
// anew, so that the old one can be taken away. Errors: ErrFormat, ErrSealed, and what etcd says.
func OpenStore(ctx context.Context, client *clientv3.Client, prefix string, transformer value.Transformer) (*clientv3.Client, error) {
	s := store{client: client, layout: Layout{Prefix: prefix}, transformer: transformer}
	for {
		opened, done, err := s.open(ctx)
		if done || err != nil {
			return opened, err
		}
	}
}

// ReadStore is the client that OpenStore returns, without writing anything and
// without judging the format, which fsck does. Errors: ErrSealed, and what etcd says.
func ReadStore(ctx context.Context, client *clientv3.Client, prefix string, transformer value.Transformer) (*clientv3.Client, error) {
	s := store{client: client, layout: Layout{Prefix: prefix}, transformer: transformer}
	r, err := client.Get(ctx, s.layout.config())
	if err != nil {
		return nil, fmt.Errorf("ledger: reading the format: %w", err)
	}
	var config stored
	if len(r.Kvs) == 0 || json.Unmarshal(r.Kvs[0].Value, &config) != nil || len(config.Keys) == 0 {
		return client, nil
	}
	opened, _, _, err := s.unseal(ctx, config)
	return opened, err
}

// store is one that is being opened.
type store struct {
	client      *clientv3.Client
	layout      Layout
	transformer value.Transformer
}

// read returns what stands in the config key; nil where the store is empty.
func (s *store) read(ctx context.Context) (*mvccpb.KeyValue, stored, error) {
	var config stored
	r, err := s.client.Get(ctx, s.layout.config())
	if err != nil {
		return nil, config, fmt.Errorf("ledger: reading the format: %w", err)
	}
	if len(r.Kvs) == 0 {
		return nil, config, nil
	}
	if err := json.Unmarshal(r.Kvs[0].Value, &config); err != nil {
		return nil, config, fmt.Errorf("ledger: %s does not parse (%w): this is no data of kubizone", s.layout.config(), err)
	}
	if config.Format > SealedFormat {
		return nil, config, fmt.Errorf("ledger: format %d, this kubizone knows %d: %w; start a version that knows it", config.Format, SealedFormat, ErrFormat)
	}
	if config.HashAlgorithm != sethash.Algorithm {
		return nil, config, fmt.Errorf("ledger: hash algorithm %d, this kubizone knows %d: %w; start a version that knows it", config.HashAlgorithm, sethash.Algorithm, ErrFormat)
	}
	if (config.Format == SealedFormat) != (len(config.Keys) > 0) {
		return nil, config, fmt.Errorf("ledger: %s says format %d with keys of %d octets: it was changed by hand; restore a backup", s.layout.config(), config.Format, len(config.Keys))
	}
	return r.Kvs[0], config, nil
}

// open is one try; not done: another server wrote meanwhile.
func (s *store) open(ctx context.Context) (_ *clientv3.Client, done bool, err error) {
	kv, config, err := s.read(ctx)
	if err != nil {
		return nil, false, err
	}
	encrypts, err := sealed.Encrypts(ctx, s.transformer)
	if err != nil {
		return nil, false, fmt.Errorf("ledger: encrypting: %w", err)
	}
	if kv == nil {
		config = stored{Format: Format, HashAlgorithm: sethash.Algorithm}
	}
	switch {
	case len(config.Keys) > 0:
	case encrypts: // names are sealed from the beginning or not at all
		_, err := s.wrap(ctx, kv, config, sealed.NewKeys(kv == nil))
		return nil, false, err
	case kv == nil:
		done, err := s.write(ctx, kv, config)
		return s.client, done, err
	default:
		return s.client, true, nil
	}
	opened, keys, stale, err := s.unseal(ctx, config)
	if err != nil {
		return nil, false, err
	}
	if stale { // a server that was faster has done the same
		if _, err := s.wrap(ctx, kv, config, keys); err != nil {
			return nil, false, err
		}
	}
	s.warn(ctx, keys, encrypts)
	return opened, true, nil
}

// wrap writes the store's keys as the transformer would have them; false: another
// server wrote meanwhile.
func (s *store) wrap(ctx context.Context, kv *mvccpb.KeyValue, config stored, keys sealed.Keys) (bool, error) {
	var err error
	config.Format = SealedFormat
	if config.Keys, err = keys.Wrap(ctx, s.transformer, s.layout.config()); err != nil {
		return false, fmt.Errorf("ledger: encrypting the keys of the store: %w", err)
	}
	return s.write(ctx, kv, config)
}

// write replaces the config key, what it does not know there stays; false: another did.
func (s *store) write(ctx context.Context, kv *mvccpb.KeyValue, config stored) (bool, error) {
	key := s.layout.config()
	all := map[string]json.RawMessage{}
	if kv != nil {
		if err := json.Unmarshal(kv.Value, &all); err != nil {
			return false, unreadable(key, err)
		}
	}
	if err := json.Unmarshal(encode(config), &all); err != nil {
		return false, unreadable(key, err)
	}
	r, err := s.client.Txn(ctx).If(revisionIs(key, modRevision(kv))).Then(opPut(key, encode(all))).Commit()
	if err != nil {
		return false, fmt.Errorf("ledger: writing the format: %w", err)
	}
	return r.Succeeded, nil
}

// unseal makes the client of a store that has keys.
func (s *store) unseal(ctx context.Context, config stored) (*clientv3.Client, sealed.Keys, bool, error) {
	keys, stale, err := sealed.Unwrap(ctx, s.transformer, s.layout.config(), config.Keys)
	if err != nil {
		return nil, keys, false, fmt.Errorf("ledger: %w (%w): --encryption-provider-config must name a file that has for records.kubi.zone the provider and key of the last start", ErrSealed, err)
	}
	layout := sealed.Layout{Prefix: s.layout.Internal(), Except: s.layout.config(), Labels: s.layout.labelsAt, Compared: s.layout.isReserved}
	seal, err := sealed.New(layout, keys)
	if err != nil {
		return nil, keys, false, fmt.Errorf("ledger: %s: %w", s.layout.config(), errors.Join(ErrSealed, err))
	}
	return seal.Client(s.client), keys, stale, nil
}

// warn says what stays readable in etcd.
func (s *store) warn(ctx context.Context, keys sealed.Keys, encrypts bool) {
	switch {
	case !encrypts:
		klog.FromContext(ctx).Info("Warning: the encryption configuration encrypts nothing that is written to records.kubi.zone, so the keys of this store stand unencrypted in etcd", "key", s.layout.config())
	case len(keys.Names) == 0:
		klog.FromContext(ctx).Info("Warning: this store was made without encryption. Values are encrypted as they are written, but DNS names stay readable in the ledger's own keys; to have them encrypted, kubizone export every zone and import it into a new store that has the encryption configuration from its first start", "prefix", s.layout.Internal())
	}
}
