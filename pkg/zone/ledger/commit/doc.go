// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commit decides writes and commits them in etcd transactions. A group is a single write, or a change set,
// which commits as a whole or not at all. Groups wait in a queue for each zone. A batch takes groups from the queue,
// and decides each on the draft, the zone as earlier groups leave it. A transaction commits a batch, or batches of
// several zones.
//
// A transaction compares all facts (stored values) that its decisions have read, also for refusals. If a compare fails,
// each write is decided again. If its object has changed, the write begins again at its caller.
//
// Guarantees:
//
//  1. The invariants I1 to I3 and I5 of package ledger hold.
//  2. A process has at most one batch of a zone in flight.
//  3. If a request ends, its write is dropped, or the error reports that the write may be committed.
//  4. A namespace is charged for the octets of its writes, and for a share of the keys common to a batch (etcd.PaidBy).
//  5. A panic fails only its write (Recover): locks are released, and other writes are decided again.
//
// Read first: commit.go (commitGroups names the steps), queue.go.
package commit
