// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tink-crypto/tink-go/v2/daead/subtle"
	"golang.org/x/crypto/chacha20poly1305"
)

// Layout says which keys are sealed, and where names stand in them.
type Layout struct {
	// Prefix is that of the keys that are sealed; all others pass as they are.
	Prefix string
	// Except is the one key under Prefix that passes as well.
	Except string
	// Labels is the index in a key at which labels begin, each ended by a dot; a
	// slash ends them all, and text follows that stays. -1: the key has no such
	// place. It depends only on what stands before that index.
	Labels func(key string) int
}

// Seal translates keys and values between a caller and etcd.
type Seal struct {
	layout Layout
	names  *subtle.AESSIV // nil: names stay as they are
	values cipher.AEAD
}

// New is the Seal of a store with the keys.
func New(layout Layout, keys Keys) (*Seal, error) {
	s := &Seal{layout: layout}
	var err error
	if s.values, err = chacha20poly1305.NewX(keys.Values); err != nil {
		return nil, fmt.Errorf("the key of values: %w", err)
	}
	if len(keys.Names) > 0 {
		if s.names, err = subtle.NewAESSIV(keys.Names); err != nil {
			return nil, fmt.Errorf("the key of names: %w", err)
		}
	}
	return s, nil
}

// coversKey reports whether the value of a key is sealed.
func (s *Seal) coversKey(key string) bool {
	return strings.HasPrefix(key, s.layout.Prefix) && key != s.layout.Except
}

// text is the encoding of a sealed label. None of its characters separates labels or paths, and each label has one
// encoding.
var text = base64.RawURLEncoding.Strict()

// splitKey cuts a key into what stands before its labels, the labels, and what
// follows them. inside: it goes on behind head, where etcd's order is another.
func (s *Seal) splitKey(key string) (head, labels, tail string, inside bool) {
	if s.names == nil || !strings.HasPrefix(key, s.layout.Prefix) {
		return key, "", "", false
	}
	at := s.layout.Labels(key)
	if at < 0 {
		return key, "", "", false
	}
	head, labels = key[:at], key[at:]
	if i := strings.IndexByte(labels, '/'); i >= 0 {
		labels, tail = labels[:i], labels[i:]
	}
	return head, labels, tail, at < len(key)
}

// isWhole reports whether every label of a key is ended, so that it has a place in etcd.
func (s *Seal) isWhole(key string) bool {
	_, labels, _, _ := s.splitKey(key)
	return labels == "" || strings.HasSuffix(labels, ".")
}

// sealKey returns the key in etcd. Error: a label is empty or not ended.
func (s *Seal) sealKey(key string) (string, error) {
	head, labels, tail, inside := s.splitKey(key)
	if !inside {
		return key, nil
	}
	out := make([]byte, 0, len(head)+3*len(labels)+len(tail))
	out = append(out, head...)
	// Associated is what the caller's key has before a label.
	associated := append(make([]byte, 0, len(key)), head[len(s.layout.Prefix):]...)
	for labels != "" {
		label, rest, ended := strings.Cut(labels, ".")
		if !ended || label == "" {
			return "", fmt.Errorf("%q: a label is empty or not ended by a dot", key)
		}
		sealed, err := s.names.EncryptDeterministically([]byte(label), associated)
		if err != nil {
			return "", fmt.Errorf("%q: %w", key, err)
		}
		out = append(text.AppendEncode(out, sealed), '.')
		associated = append(append(associated, label...), '.')
		labels = rest
	}
	return string(append(out, tail...)), nil
}

// openKey is the inverse of sealKey.
func (s *Seal) openKey(stored string) (string, error) {
	head, labels, tail, inside := s.splitKey(stored)
	if !inside {
		return stored, nil
	}
	out := append(make([]byte, 0, len(stored)), head...)
	for labels != "" {
		sealed, rest, ended := strings.Cut(labels, ".")
		raw, err := text.DecodeString(sealed)
		if err == nil && !ended {
			err = fmt.Errorf("its last label is not ended")
		}
		var label []byte
		if err == nil {
			label, err = s.names.DecryptDeterministically(raw, out[len(s.layout.Prefix):])
		}
		if err != nil {
			return "", fmt.Errorf("the key %q in etcd was not made with the keys of this store: %w", stored, err)
		}
		out = append(append(out, label...), '.')
		labels = rest
	}
	return string(append(out, tail...)), nil
}
