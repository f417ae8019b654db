// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changeset is the REST storage of changesets.kubi.zone, which clients can only create.
//
// It promises (S10): (1) each item is a write of a Record by the same user, which is authorized, admitted, audited
// and counted like a request of its own, and which waits in one set with the others; (2) the answer has all refusals,
// each under its spec.items[N]; (3) a set ends with its request: nothing waits for its items any more; (4) at most
// maxSets of several writes are in progress, and maxSetsOfNamespace of one namespace; (5) an item whose Record is an
// object of this process (RawExtension.Object) is written from that.
//
// It does not know how items are decided, nor how a write is served: the server provides both.
//
// Read storage.go first, then item.go.
package changeset
