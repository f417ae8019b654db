// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rrsets brings the Records of an owner to a wanted state, for imports, reverts, external-dns and DNS updates.
// An owner is a program, identified by its field manager. Plan compares existing with wanted Records. A Writer sends
// the changes as ChangeSets, transactions of several Records.
//
// Guarantees:
//
//  1. A plan deletes only Records whose spec the owner wrote, at names where the wanted Records are complete
//     (Desired.Complete). Deletions come first, and unchanged Records are omitted.
//  2. A ChangeSet has Records of a single namespace, within the server's limits (S10.4), and all changes of a name if
//     they fit. A set too large for etcd is halved.
//  3. A refused change does not block others, unless the caller wants all or none (WriteAll).
//  4. A request that gets no answer, or that the server cannot serve now, is retried. If a Record has changed, its
//     change is planned again.
//
// Read first: write.go, plan.go, change.go, retry.go.
package rrsets
