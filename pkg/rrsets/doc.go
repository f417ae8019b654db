// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rrsets writes an owner's Records: it plans changes to the wanted RRsets, and sends them as change sets.
//
// Guarantees:
//
//  1. A plan deletes only the owner's Records, at names that the wanted RRsets describe completely. Deletions come
//     first, and unchanged Records are left out.
//  2. A change set has Records of a single namespace, within the server's bounds (S10.4), and all changes of a name if
//     they fit. A set too large for etcd is halved.
//  3. A refused change does not block others, unless the caller wants all or none.
//  4. A request without an answer, or not served now, is retried. A change of a Record that has changed is planned
//     again.
//  5. Each change has an outcome with its refusals.
//
// Out of scope: the source of the wanted RRsets, and rights.
//
// Read first: write.go, plan.go, change.go, retry.go.
package rrsets
