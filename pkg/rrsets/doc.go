// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rrsets writes an owner's Records: it plans changes to the wanted RRsets, and sends them as change sets.
//
// Guarantees:
//
//  1. A plan deletes only Records of the owner, at names that the wanted RRsets describe completely. Deletions come
//     first, other managers of a changed Record are named, and unchanged Records are left out.
//  2. A change set has Records of one namespace, at most the server's number of items and octets (S10.4), and all
//     changes of a name if they fit. A set too large for etcd is halved.
//  3. A refused change does not block others, unless the caller wants all or none.
//  4. A request without an answer, or that the server cannot serve now, is retried after Retry-After. A change of a
//     Record changed meanwhile is planned again.
//  5. Each change has an outcome with its refusals.
//
// Out of scope: the source of the wanted RRsets, and rights.
//
// Read first: write.go, plan.go, change.go, retry.go.
package rrsets
