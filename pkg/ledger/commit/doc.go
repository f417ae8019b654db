// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commit decides writes and commits them. A write waits in the queue of its zone (queue.go). A batch takes
// groups from the queue and decides them in turn, each on the zone as the groups before it leave it (batch.go,
// draft.go). A write by itself is a group of one; the writes of a change set are a group that is committed as a whole
// or not at all (set.go). One transaction commits the batch (transaction.go), or batches of several zones
// (together.go), and each group gets its answer (answer.go).
//
// The life of a write. It is *made* by the door or the outbox with what it asks the law and what it puts (Write). It
// *waits* in the queue of a zone, holding nothing. It is *decided* in a batch: taken in, a refusal too, which the
// transaction proves; or told which locks it needs, or that it may pass later (law.Later), as memory says; or left for
// the next batch. The batch is *sent*: one transaction that compares every fact. It is *applied*, and the answers say
// at which version each object stands; or it is *lost*, and what has moved is read, and each write is decided anew, but
// for those whose own object has changed: these are told so. Where the outcome is *unknown* each caller is told that.
//
// Promises. (1) I1 to I3 and I5 of package ledger. (2) One batch of a process is under way at a zone at a time. (3) A
// write that its caller has left is left out, or the caller is told that it may stand. (4) Each write pays for its own
// octets, and for a share of those that the batch writes once (etcd.PaidBy). (5) A panic is the answer to the write
// that it came of (Recover): locks are given up, and the other writes of its batch are decided anew. (6) No batch fails
// for another one that shares its transaction, nor waits for facts that another one reads.
//
// It does not know what a plan means, nor the clients and cascades that make writes; what a write owes elsewhere it
// puts into the outbox, and carries nothing of it out.
//
// Read first: commit.go, whose commitGroups names the steps, then queue.go, batch.go, together.go, transaction.go,
// answer.go, draft.go, set.go, lock.go, errors.go, owed.go, write.go and types.go. A file rests on those behind it; two
// references run back, from the queue to commitGroups and from the batch in types.go to the writes.
package commit
