// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsck recomputes every internal key and every journal step of a store
// from its objects, at one etcd revision, and reports what differs. The command
// line calls it, and every test of the ledger ends with it.
//
// It promises: (1) It only reads. (2) All of it is of one revision, so writers
// need not stop. (3) What the objects determine is recomputed by ways of its own, from the text of the semantics, and
// not by those of the ledger or the law; what they do not (how a record was admitted, when a cascade began) is held
// against what surrounds it. The law is asked for one thing alone: whether what waits would be let in, which is owed
// then. (4) A difference that an outbox item or a pending cut is about to remove is reported as owed, never as damage;
// one that former rules may explain is a note. (5) It holds a few hundred octets a record; objects, keys and journals
// are read in pages.
//
// It does not know how to repair, and it does not know caches or views: they follow the store.
//
// Read first: fsck.go (what is asked and answered), then journal.go (replay), zones.go and names.go (the text against
// the model), then read.go and model.go (the store as its objects tell it).
package fsck
