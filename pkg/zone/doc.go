// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zone decides, stores and shows zones. law decides a write by facts, lawform turns objects into its values,
// ledger commits decision and objects in one etcd transaction, etcd runs and maintains the store, and zoneview keeps
// the content of zones in memory, each serial proven by its hash.
//
// For: the API server, which writes; primaries, providers and commands, which read views.
//
// Guarantees:
//  1. Invariants I1 to I5 of docs/architecture.md.
//  2. law and zoneview do no I/O; zoneview/feed follows the journal or the API. ledger alone writes keys of objects.
//     No house but apiserver imports ledger or etcd.
//
// Imports: kit, dns, apis. Read first: law/doc.go, ledger/doc.go, zoneview/doc.go.
package zone
