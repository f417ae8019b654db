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
	_, _ = rand.Read(k.Octets) // never fails (crypto/rand)
	return k
}

// orIdentity replaces nil by the identity transformer, for which encrypted data are an error.
func orIdentity(t value.Transformer) value.Transformer {
	if t == nil {
		return identity.NewEncryptCheckTransformer()
	}
	return t
}

// Encrypts returns false for nil, and if identity is the transformer's first provider.
func Encrypts(ctx context.Context, t value.Transformer) (bool, error) {
	const probe = "kubizone"
	out, err := orIdentity(t).TransformToStorage(ctx, []byte(probe), value.DefaultContext(probe))
	return string(out) != probe, err
}

// Wrap returns the stored form for the etcd key "at".
func (k Key) Wrap(ctx context.Context, t value.Transformer, at string) ([]byte, error) {
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	return orIdentity(t).TransformToStorage(ctx, text, value.DefaultContext(at))
}

// Unwrap decrypts a Key wrapped for the etcd key "at". If stale, wrap it again, since the transformer now encrypts with
// another key or provider.
func Unwrap(ctx context.Context, t value.Transformer, at string, data []byte) (k Key, stale bool, err error) {
	text, stale, err := orIdentity(t).TransformFromStorage(ctx, data, value.DefaultContext(at))
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
