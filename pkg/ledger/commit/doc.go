// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commit decides writes and commits them in etcd transactions. Writes wait in the queue of their zone as
// groups. A group is a single write, or the writes of a change set, committed as a whole or not at all. A batch takes
// groups from the queue, and decides each on the draft: the zone as earlier groups leave it. A transaction commits a
// batch, or batches of several zones.
//
// A transaction compares all facts of its decisions, also of refusals. If a compare fails, each write is decided again.
// A write whose object has changed returns to its caller, which begins again.
//
// Guarantees:
//
//  1. I1 to I3 and I5 of package ledger: versions are unique, serial and content fit the records, and all facts of a
//     decision are compared.
//  2. A process has at most one batch in flight for each zone.
//  3. If a request ends, its write is dropped, or the error reports that the write may be committed.
//  4. A write's namespace is charged for the write's own octets, and for a share of the common keys (etcd.PaidBy).
//  5. A panic fails only the write that caused it (Recover): locks are released, and other writes are decided again.
//  6. Batches that share a transaction neither fail because of each other nor wait for each other's reads.
//
// Out of scope: the meaning of a plan, and the processing of outbox items.
//
// Read first: commit.go, whose commitGroups names the steps, then queue.go, batch.go, together.go, transaction.go,
// answer.go, draft.go, history.go, set.go, lock.go, errors.go, items.go, write.go and types.go. A file uses only files
// after it, except that the queue calls commitAll, and batch in types.go has the writes.
package commit
