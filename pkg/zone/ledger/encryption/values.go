// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package encryption

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/crypto/chacha20poly1305"
)

// encryptedPrefix begins every encrypted value. Plaintext values are JSON.
const encryptedPrefix = "encrypted:1:"

type values struct {
	aead             cipher.AEAD
	mixed            bool
	prefix, plainKey string
}

// NewClient returns a client that encrypts and decrypts all values under a prefix, except the value of the key
// plainKey. The client has only a KV and a Watcher.
func NewClient(client *clientv3.Client, k Key, prefix, plainKey string) (*clientv3.Client, error) {
	aead, err := chacha20poly1305.NewX(k.Octets)
	if err != nil {
		return nil, err
	}
	v := &values{aead, k.Mixed, prefix, plainKey}
	c := clientv3.NewCtxClient(client.Ctx())
	c.KV, c.Watcher = &kv{client.KV, v}, &watcher{Watcher: client.Watcher, values: v}
	return c, nil
}

func (v *values) cover(key string) bool {
	return strings.HasPrefix(key, v.prefix) && key != v.plainKey
}

func (v *values) encryptValue(key, data []byte) []byte {
	head := len(encryptedPrefix) + v.aead.NonceSize()
	out := make([]byte, head, head+len(data)+v.aead.Overhead())
	nonce := out[copy(out, encryptedPrefix):]
	_, _ = rand.Read(nonce) // never fails
	return v.aead.Seal(out, nonce, data, key)
}

// decryptValue decrypts kv in place. It skips an empty value, as in a deletion or a read of keys only.
func (v *values) decryptValue(kv *mvccpb.KeyValue) (err error) {
	if kv == nil || len(kv.Value) == 0 || !v.cover(string(kv.Key)) {
		return nil
	}
	sealed, hasPrefix := bytes.CutPrefix(kv.Value, []byte(encryptedPrefix))
	isPlaintext := !hasPrefix && v.mixed
	if isPlaintext {
		return nil
	}

	// The key of etcd is authenticated data: a value copied from another key does not open.
	nonceSize := v.aead.NonceSize()
	switch {
	case !hasPrefix:
		err = errors.New("it is not encrypted, and this store encrypts all values")
	case len(sealed) < nonceSize:
		err = errors.New("it is cut off")
	default:
		kv.Value, err = v.aead.Open(nil, sealed[:nonceSize], sealed[nonceSize:], kv.Key)
	}
	if err != nil {
		return fmt.Errorf("the value of %s %w (%w): it was changed in etcd, or moved there from another key or store; "+
			"restore a backup", kv.Key, ErrDecrypt, err)
	}
	return nil
}

// ErrDecrypt is the cause of an error of a read or watch if a value is damaged, or of another key or store.
var ErrDecrypt = errors.New("does not decrypt")

func (v *values) decryptAll(kvs []*mvccpb.KeyValue) error {
	for _, kv := range kvs {
		if err := v.decryptValue(kv); err != nil {
			return err
		}
	}
	return nil
}
