// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sealed keeps names and data of tenants out of etcd's sight where the
// encryption configuration asks for it: a client whose keys and values under one
// prefix are other ones in etcd than its caller sees.
//
// Promises. (1) A label in a key is encrypted by AES-SIV with the text before it
// as associated data: equal labels look equal only below the same name, and what
// is at and below a name is one range still. (2) A value is encrypted and bound
// to its key: moved elsewhere it does not decrypt. Equal values look
// different. (3) A range that would mean
// something else in etcd is an error, never another range. (4) An answer that is
// whole is in the order of the caller's keys; one that is a page is in etcd's.
// (5) What does not decrypt is an error that names the key. In sight remain rooms,
// views, uids, namespaces, names of objects, lengths, and which keys change together.
//
// It does not know what the keys are about: Layout tells it where labels stand.
// Nor where its Keys are kept; the ledger wraps them by the encryption
// configuration, so that rotating that one's keys writes one value anew, not all.
//
// Read first: names.go (one key), then ranges.go (two of them), then kv.go.
package sealed
