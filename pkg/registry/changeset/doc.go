// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changeset is the door of ChangeSets: the REST storage of changesets.kubi.zone, of which a client can do
// nothing but create one.
//
// It promises (S10): (1) each item is a request of its own to records.kubi.zone by the same user, which is
// authorized, admitted, audited and counted as a client's is, and whose write waits in one set with the others; (2)
// the answer tells all refusals, each under its spec.items[N]; (3) a set whose request ends, ends: nothing waits for
// its items any more; (4) at most maxSets of them are under way, and maxSetsOfNamespace of one namespace.
//
// It does not know how items are decided, nor how a request is served: both are given to it.
//
// Read storage.go first, then item.go.
package changeset
