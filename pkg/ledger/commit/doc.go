// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commit decides writes and commits them. A write waits in the queue of its zone (queue.go). A batch takes
// groups from the queue and decides them in turn, each on the zone after the groups before (batch.go, draft.go). A
// single write is a group of one; the writes of a change set are a group committed as a whole or not at all (set.go).
// A transaction commits a batch (transaction.go), or batches of several zones (together.go). Then each group gets its
// answer (answer.go).
//
// A transaction compares all facts of its decisions, refusals too. If a compare fails, the moved keys are read, and
// each write is decided again, unless its object has changed: then the caller begins again. A group may be answered
// early with the locks that it needs, or with a refusal that may pass (law.Later).
//
// Promises. (1) I1 to I3 and I5 of package ledger. (2) A process has at most one batch in flight for each zone. (3)
// If a caller leaves, its write is dropped, or the caller learns that the write may be committed. (4) Each write pays
// for its own octets, and for a share of the common keys (etcd.PaidBy). (5) A panic fails only the write that caused
// it (Recover): locks are released, and the other writes of the batch are decided again. (6) Batches in a transaction
// neither fail for each other nor wait for each other's facts.
//
// Package commit does not know the meaning of a plan, nor the clients and cascades behind writes. It puts outbox
// items, and processes none.
//
// Read first: commit.go, whose commitGroups names the steps, then queue.go, batch.go, together.go, transaction.go,
// answer.go, draft.go, set.go, lock.go, errors.go, items.go, write.go and types.go. A file uses those after it; two
// references run back, from the queue to commitGroups and from the batch in types.go to the writes.
package commit
