// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outbox processes the pending work of writes on other objects (I4): cascades, which decide many objects again
// (cascade.go, window.go, steps.go, zones.go, delegations.go), cuts (NS, glue and DS of a child zone) to be counted by
// the parent (cuts.go), the ends of grace periods (withdrawal.go), and sweeps of obsolete keys (forget.go).
//
// Guarantees:
//
//  1. Each step is a write like a client's, decided by package law and proved by the same compares (package commit). So
//     a repeated step changes nothing, and two servers may process an item.
//  2. An item, the stored form of a work, is deleted in the transaction that ends the work.
//  3. The cascades of a namespace run one after the other. A bounded number of namespaces run cascades at once, in
//     slices of time (lanes.go).
//  4. An unreadable record is left out and noted in the item (work.go).
//  5. After any interruption, a work continues after the cursor in its item.
//
// A step differs from a client's write: a refusal becomes the reason of a condition, and the record leaves its zone, or
// waits. The step leaves the work's mark at the zone, which is unsettled until the mark is removed (S7.2). If records
// move to another zone, the mark locks their names for clients (S2.10).
//
// Out of scope: the storage of the API, admission, migrations, and answers to clients.
//
// Read first: run.go, then cascade.go, waiting.go and zones.go, then steps.go and window.go.
package outbox
