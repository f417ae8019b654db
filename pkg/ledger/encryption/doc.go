// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package encryption encrypts the values of the ledger's own keys if the encryption configuration encrypts Records,
// since these values contain data of Records.
//
// A single key of the store, which the transformer of Records encrypts, encrypts all values, like the KMS providers
// of Kubernetes. So a rotation rewrites a single value.
//
// Promises. (1) A value is bound to a key of etcd, and does not decrypt under another key. Equal values have
// different ciphertexts. (2) A value that does not decrypt is an error naming the key, and so is a plaintext value,
// unless the store was created before its encryption. (3) Everything else is as without encryption.
//
// Keys remain visible, and so the names of zones, records, views and namespaces. Lengths of values, and the keys that
// change together, also remain visible.
//
// Out of scope: the meaning of keys in etcd, and the place of the encryption key.
//
// Read first: kv.go and watch.go, then values.go and key.go.
package encryption
