// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger stores Zones, Records and Delegations in etcd. Package law decides each write, and one etcd
// transaction commits it together with the zone's new serial and all internal keys. Effects on other objects follow
// later, as pending work: a cascade decides many Records or zones again, and a pending cut (NS, glue and DS of a child
// zone) is added to the parent zone.
//
// # Packages
//
// This package opens and migrates the store, commits the writes of Kubernetes' storage, and performs dry runs. Each
// package uses only packages listed above it:
//
//	layout    keys and the encoding of values
//	etcd      operations, ranges and watches of any key
//	objects   conversion of objects to requests, and of decisions to status
//	history   the archive of a zone's steps (changes of content), with the Records before each step
//	journal   the recent steps of each zone, and how long they stay
//	facts     this server's cache of the store, and the compares that prove it
//	commit    the queue, decision and transaction of writes
//	outbox    the pending work of writes: cascades, cuts, sweeps
//
// All etcd clients here replace revisions by versions, unique in a transaction (package subrev).
//
// # The life of a write
//
// Kubernetes' storage passes an encoded object to this package (record.go), and the write waits in its zone's queue
// (commit/queue.go). Package law decides it on facts from the cache or etcd, each with a compare (facts/readset.go).
// One transaction tests the compares and puts objects, internal keys and outbox items (commit/transaction.go). If a
// compare fails, the write is decided again. Any server may do the pending work (outbox/run.go).
//
// # Locks
//
// Locks are local, and acquired in this order: queue.sem of package commit (a zone's batches; several zones in key
// order, after pending cuts), group.deciding (the objects of a write's caller), and Memory.Mu of package facts.
// Only the first two are held during requests to etcd. Between servers, only compares decide.
//
// # Promises
//
// Package fsck recomputes all internal keys from the objects, and checks five invariants:
//
//   - (I1) Two objects of a resource never share a resourceVersion, and a batch changes a single zone.
//   - (I2) A zone's content follows from the store at the zone's last revision.
//   - (I3) Serial and hash change with the content, once for each change.
//   - (I4) The transaction of a write also stores its pending work, and the work's last transaction removes it.
//   - (I5) A decision is valid at the revision of its commit.
//
// # Reading order
//
// Read first: open.go, then item.go, set.go, early.go and review.go, then record.go, zone.go and delegation.go, then
// write.go and storage.go.
package ledger
