// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger carries out what law decides: one etcd transaction for one or more
// writes of a zone, with the Records, the Zone and every internal key that follows from
// them. It also pays what a write owes elsewhere: cascades and parents' cuts.
//
// Promises, which ledger/fsck recomputes from the objects. (I1) Two objects of one
// resource never have one resourceVersion; a transaction changes Records or Delegations
// of one zone, and that zone. (I2) The definition of a zone
// at the revision of its last write is a function of the store at that revision:
// its records.
// (I3) Serial and hash change in the transaction that changes the definition,
// once for each. (I4) What a write owes elsewhere is an outbox item or a debt in
// the same transaction, consumed in the transaction that pays it. (I5) A
// decision holds at the revision it commits: everything it read is compared.
//
// I5 rests on one rule: every key that belongs to a zone changes only together
// with the zone's object. So a fact once read stays true while the zone stands
// at its revision, and one compare covers all of them. Names of zones are
// compared by themselves, present or absent, which is why no fences are needed.
// What one zone must know of another's write stands in the holding under its name,
// which its own writes compare: a place kept for a record that moves, the name a
// cascade will give it, a zone that lost there, a cascade that brings records. While the
// last of these stands nothing comes to the zone that loses them at those names, and what
// leaves there is on its way or in this zone: both are compared, and what was read of the
// losing zone is not.
//
// All clients of etcd in it speak of versions, which package subrev makes of etcd's
// revisions: they are compared and watched from, and stand in no value. What
// a zone or record is at is the version in the answer to its own write.
//
// It does not know DNS transfer, views, HTTP or admission; registry and
// apiserver plug it into Kubernetes' storage (Seam, Records, Zones).
//
// Read first: commit.go (a write), queue.go (the turn at a zone), batch.go (writes that one
// transaction makes true), session.go (facts and what proves them), set.go and together.go (change
// sets: all or nothing), then cascade.go with steps.go and window.go, move.go and rename.go. Which keys stand in etcd, and what their values say: the
// package layout. What changes the form of what is stored: migrate.go.
package ledger
