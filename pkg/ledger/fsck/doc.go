// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsck recomputes every internal key and every journal step of a store
// from its objects, at one etcd revision, and reports what differs. The command
// line calls it, and every test of the ledger ends with it.
//
// It promises: (1) It only reads. (2) All of it is of one revision, so writers
// need not stop. (3) Values that the objects determine are recomputed by ways of its
// own, not by those of the ledger; what they do not (how a record was admitted,
// when a cascade began) is held against what surrounds it. (4) Every decision
// that stands is asked of the law again: what is in a zone would be let in, what
// waits would be refused. (5) A difference that an outbox item or a pending cut is about
// to remove is reported as owed, never as damage. (6) It
// holds a few hundred octets a record; objects, keys and journals are read in pages.
//
// It does not know how to repair, and it does not know caches or views: they
// follow the store.
//
// Read first: fsck.go (what is asked and answered), then names.go (which records stand
// where), then journal.go (replay).
package fsck
