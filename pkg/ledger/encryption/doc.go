// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package encryption encrypts the values of the ledger's own keys, which contain data of Records, if the encryption
// configuration encrypts Records. A key of the store encrypts all values, and the transformer of Records that key, so a
// rotation rewrites a single value.
//
// Guarantees:
//
//  1. A value is bound to a key of etcd, and does not decrypt under another key. Equal values have different
//     ciphertexts.
//  2. An undecryptable value is an error naming the key, and so is plaintext, unless the store was created without
//     encryption.
//  3. Everything else behaves as without encryption.
//
// Keys of etcd (names of zones, records, views and namespaces) and lengths of values remain visible.
//
// Out of scope: the meaning of keys in etcd, and the place of the encryption key.
//
// Read first: kv.go and watch.go, then values.go and key.go.
package encryption
