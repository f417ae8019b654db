// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package encryption encrypts the values of the ledger's own keys where the
// encryption configuration encrypts Records: their data stands in these values,
// too.
//
// One key of the store encrypts all values. The transformer of Records encrypts
// that key, as Kubernetes' KMS providers do with theirs, so a rotation writes one
// value anew, not all.
//
// Promises. (1) A value is bound to its key: moved elsewhere it does not decrypt.
// Equal values look different. (2) A value that does not decrypt is an error that
// names its key. So is one that is not encrypted, unless the store was made
// before its encryption. (3) All else is as without encryption.
//
// In sight remain the keys, so the names of zones, records, views and
// namespaces, as Kubernetes leaves names of objects; the lengths of values; and
// which keys change together.
//
// It does not know what the keys are about, nor where its own key is kept.
//
// Read first: kv.go and watch.go, then values.go and key.go.
package encryption
