// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/daead/subtle"
	"golang.org/x/crypto/chacha20poly1305"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

// Keys are those of one store. They are made when it is first sealed and never changed: with other keys nothing
// stored would be found.
type Keys struct {
	// Names encrypts labels, 64 octets; none where the names of a store stay as they are.
	Names []byte `json:"names,omitempty"`
	// Values encrypts values, 32 octets.
	Values []byte `json:"values"`
}

// NewKeys returns random keys; names says whether labels are to be sealed.
func NewKeys(names bool) Keys {
	k := Keys{Values: make([]byte, chacha20poly1305.KeySize)}
	_, _ = rand.Read(k.Values) // never fails (crypto/rand)
	if names {
		k.Names = make([]byte, subtle.AESSIVKeySize)
		_, _ = rand.Read(k.Names)
	}
	return k
}

// orIdentity returns the transformer, or without an encryption configuration upstream's identity provider, which
// knows encrypted data when it sees it.
func orIdentity(t value.Transformer) value.Transformer {
	if t == nil {
		return identity.NewEncryptCheckTransformer()
	}
	return t
}

// Encrypts reports whether a transformer, nil for none, encrypts what it writes.
// One that has identity as its first provider does not.
func Encrypts(ctx context.Context, t value.Transformer) (bool, error) {
	const probe = "kubizone"
	out, err := orIdentity(t).TransformToStorage(ctx, []byte(probe), value.DefaultContext(probe))
	return string(out) != probe, err
}

// Wrap returns k as it may stand in etcd under the key at.
func (k Keys) Wrap(ctx context.Context, t value.Transformer, at string) ([]byte, error) {
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	return orIdentity(t).TransformToStorage(ctx, text, value.DefaultContext(at))
}

// Unwrap is the inverse of Wrap. stale says that the transformer would now write it otherwise. Errors: the
// transformer does not know the key that it was wrapped by, or the result has no keys.
func Unwrap(ctx context.Context, t value.Transformer, at string, data []byte) (k Keys, stale bool, err error) {
	text, stale, err := orIdentity(t).TransformFromStorage(ctx, data, value.DefaultContext(at))
	if err != nil {
		return Keys{}, false, err
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return Keys{}, false, errors.New("what is decrypted are no keys") // and not to be repeated in a log
	}
	if len(k.Values) != chacha20poly1305.KeySize || len(k.Names) != 0 && len(k.Names) != subtle.AESSIVKeySize {
		return Keys{}, false, fmt.Errorf("keys of %d and %d octets: %d or none and %d are expected", len(k.Names), len(k.Values), subtle.AESSIVKeySize, chacha20poly1305.KeySize)
	}
	return k, stale, nil
}
