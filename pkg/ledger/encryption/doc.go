// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package encryption encrypts the server's internal values in etcd, which contain data of Records, if Kubernetes'
// encryption configuration encrypts Records. A random key encrypts the values. This key is stored too, encrypted like a
// Record, so a rotation of the configured keys rewrites a single value.
//
// Guarantees:
//
//  1. A value moved to another key of etcd does not decrypt. Equal values have different ciphertexts.
//  2. A value that cannot be decrypted is an error with the key's name. So is plaintext, unless the store was created
//     without encryption.
//  3. Compares of encrypted values and streamed reads are errors. All else works as without encryption.
//
// Keys of etcd (names of zones, records, views and namespaces) and lengths of values remain visible.
//
// Read first: kv.go and watch.go, then values.go and key.go.
package encryption
