// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outbox carries out works, the changes of other objects that follow a write. Each work is an item in etcd.
// Cascades decide many objects again, cuts add the NS, glue and DS of a child zone to its parent, grace periods end,
// and sweeps delete obsolete keys.
//
// Guarantees:
//
//  1. Each change is decided and proved like a client's write (package commit), so a repeated change has no effect, and
//     two servers may process an item.
//  2. The transaction that ends a work deletes its item.
//  3. A namespace's cascades run one after the other. A bounded number of namespaces run at once, in slices of time.
//  4. An unreadable record is left out and noted in the item.
//  5. After an interruption, a work continues after the position noted in its item.
//
// No client waits for a refused change. So the refusal becomes the reason of a condition, and the record leaves its
// zone or waits.
//
// Read first: run.go, then cascade.go, waiting.go and zones.go, then steps.go and window.go.
package outbox
