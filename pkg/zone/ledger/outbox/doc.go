// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outbox is a transactional outbox: a write stores an item in etcd for each work, a change of other objects
// that must follow. Cascades decide many objects again, for example all Records below a withdrawn rule. Cuts add the
// NS, glue and DS of a child zone to its parent. Other works end grace periods, or delete obsolete keys.
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
// No client waits for the answer to such a change. If a Record is refused, its condition Adopted gets the reason, and
// the Record leaves its zone or goes on waiting.
//
// Read first: run.go, cascade.go.
package outbox
