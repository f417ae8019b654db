// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changeset serves ChangeSets. A user creates a ChangeSet to write several Records in a single transaction, all
// or none; the object is not stored. Package direct admits each item (a create, apply or delete of a Record) like a
// request. Then the ledger decides and commits all writes together.
//
// Guarantees (S10):
//
//  1. Each item is authorized, admitted, audited and counted like a request of the user.
//  2. If an item is refused, nothing is written. The error has all refusals, each with its place, such as
//     spec.items[3].
//  3. A set ends with its request.
//  4. Sets in progress with several items or prerequisites have at most maxItems items, and maxItemsOfNamespace in a
//     namespace.
//
// Read storage.go first, then item.go.
package changeset
