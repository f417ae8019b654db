// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outbox processes the pending work of writes on other objects (I4): cascades, which decide many objects again
// (cascade.go, window.go, steps.go, zones.go, delegations.go), cuts (NS, glue and DS of a child zone) for the parent to
// count (cuts.go), ends of grace periods (withdrawal.go), and sweeps of obsolete keys (forget.go).
//
// Guarantees:
//
//  1. Each step is decided and proved like a client's write (package commit): a repeated step changes nothing, and two
//     servers may process an item.
//  2. The transaction that ends a work deletes its item in outbox/.
//  3. A namespace's cascades run one after the other; a bounded number of namespaces run at once, in slices of time
//     (lanes.go).
//  4. An unreadable record is left out and noted in the item (work.go).
//  5. After any interruption, a work continues after the cursor in its item.
//
// Unlike a client's write, a refused step makes its refusal the reason of a condition, and the record leaves its zone
// or waits.
//
// Read first: run.go, then cascade.go, waiting.go and zones.go, then steps.go and window.go.
package outbox
