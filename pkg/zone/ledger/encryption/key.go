// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package encryption

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

// Key is the encryption key of a store. It never changes.
type Key struct {
	Octets []byte `json:"key"`
	// Mixed means that the store was created without encryption and has plaintext values.
	Mixed bool `json:"mixed,omitempty"`
}

func NewKey(mixed bool) Key {
	k := Key{Octets: make([]byte, chacha20poly1305.KeySize), Mixed: mixed}
	_, _ = rand.Read(k.Octets) // never fails
	return k
}

// orIdentity replaces nil by the identity transformer, which fails for encrypted data.
func orIdentity(t value.Transformer) value.Transformer {
	if t == nil {
		return identity.NewEncryptCheckTransformer()
	}
	return t
}

// Encrypts reports whether t encrypts. A nil t does not, nor does one whose first provider is identity.
func Encrypts(ctx context.Context, t value.Transformer) (bool, error) {
	const probe = "kubizone"
	out, err := orIdentity(t).TransformToStorage(ctx, []byte(probe), value.DefaultContext(probe))
	return string(out) != probe, err
}

// Wrap returns the Key encrypted by t, for storage under the etcd key etcdKey.
func (k Key) Wrap(ctx context.Context, t value.Transformer, etcdKey string) ([]byte, error) {
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	return orIdentity(t).TransformToStorage(ctx, text, value.DefaultContext(etcdKey))
}

// Unwrap decrypts a Key that Wrap has encrypted for the same etcd key. If stale is true, the transformer now encrypts
// with another key or provider, and the caller should wrap the Key again.
func Unwrap(ctx context.Context, t value.Transformer, etcdKey string, data []byte) (k Key, stale bool, err error) {
	// The etcd key is authenticated, so a Key moved to another place does not decrypt.
	text, stale, err := orIdentity(t).TransformFromStorage(ctx, data, value.DefaultContext(etcdKey))
	if err != nil {
		return Key{}, false, err
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return Key{}, false, errors.New("the decrypted value is not a key") // the text must not be in a log
	}
	if len(k.Octets) != chacha20poly1305.KeySize {
		return Key{}, false, fmt.Errorf("a key of %d octets, not %d", len(k.Octets), chacha20poly1305.KeySize)
	}
	return k, stale, nil
}
