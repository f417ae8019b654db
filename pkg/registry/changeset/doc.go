// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changeset is the create-only REST storage of changesets.kubi.zone: writes of several Records in a single
// transaction.
//
// Guarantees (S10): (1) each item is authorized, admitted, audited and counted like a request of the user, but commits
// only with all others; (2) the error has all refusals, each with its spec.items[N]; (3) a set ends with the request;
// (4) sets in progress with several items or prerequisites have at most maxItems items, maxItemsOfNamespace in a
// namespace; (5) an item passed as an object (RawExtension.Object) is not encoded.
//
// Out of scope: decisions about items.
//
// Read storage.go first, then item.go.
package changeset
