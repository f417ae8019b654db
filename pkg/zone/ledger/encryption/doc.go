// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package encryption encrypts the server's internal values in etcd, which have data of Records, if Kubernetes'
// encryption configuration encrypts Records. A random key encrypts the values. This key is stored too, encrypted like a
// Record, so a rotation of the configured keys rewrites a single value.
//
// Guarantees:
//
//  1. A value moved to another key of etcd does not decrypt. Equal values have different ciphertexts.
//  2. A value that cannot be decrypted causes an error with the key's name. So does plaintext, unless the store was
//     created without encryption.
//  3. Calls work as without encryption. Only compares of values and streamed reads return errors.
//
// The keys in etcd (names of zones, records, views and namespaces) and the lengths of values remain visible.
//
// Read first: kv.go and watch.go, then values.go and key.go.
package encryption
