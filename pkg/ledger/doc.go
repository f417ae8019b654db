// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger stores Zones, Records and Delegations in etcd. Package law decides each write, and a single etcd
// transaction commits it with the zone's new serial and all internal keys. Consequences for other objects follow as
// pending work. A cascade decides many Records or zones again. A cut, which is a child's NS, glue and DS, is counted
// by the parent zone.
//
// # Packages
//
// This package opens and migrates the store, and commits the writes of Kubernetes' storage (StorageClient, Records,
// Zones, Delegations, Set). It previews writes (Preview, EarlyRecord), and reports changes to views and budgets
// (Follow, FollowSizes). Each package below uses only those above it:
//
//	layout    keys and the encoding of values
//	etcd      operations, ranges and watches of any key
//	objects   conversion of objects to requests, and of decisions to status
//	journal   the journal of a zone: retention of its steps
//	facts     this server's cache of the store, and the compares that prove it
//	commit    the queue, decision and transaction of writes
//	outbox    the pending work of writes: cascades, cuts, sweeps
//
// Beside them are subrev (unique resourceVersions in a transaction), encryption (of internal values) and fsck.
//
// # The life of a write
//
//	made        the request to the law, the puts, and the key of the zone that probably changes   commit.Write
//	queued      at that zone, with writes of clients and cascades, without a lock                 commit/queue.go
//	decided     law returns Need (facts to look up or read), Refusal or Plan                      commit/batch.go
//	guarded     compares of the decision's facts: Zones, names, single keys, ranges               facts/session.go
//	sent        If the compares, Then objects, Zone, facts, a journal value, outbox, cuts         commit/transaction.go
//	applied     memory is updated, and each caller gets the version of its object                 commit/answer.go
//	or lost     a compare failed: the caller repeats a write whose object has changed, others are decided again
//	or unknown  etcd did not answer: memory drops the facts, callers get the error, nothing is sent twice
//	owed        the work in outbox/ and debts/ is done at once, or by any server later            outbox
//
// # Keys
//
// The writer of each key, and the compare that proves to a decision that the key is unchanged. "With the Zone" means:
// only in a transaction that also puts the Zone object of that uid, and compares its revision.
//
//	key                    written by                                               proved by
//	objects                this package, and outbox in cascades                     their own revision
//	names/                 writes that create or remove a zone; marks of            own revision, 0 if absent
//	                       cascades (outbox)
//	serials/               the removal of a zone; swept by outbox                   own revision
//	owners/                writes of Records, with the Zone                         the Zone's revision
//	members/ counts/       the same                                                 the Zone's revision
//	rules/                 writes of Delegations, with the Zone                     the Zone's revision
//	cuts/                  outbox, with the parent's Zone                           the Zone's revision
//	debts/                 changes of a child's apex; consumed with cuts/           own revision
//	withdrawn/             cascades that find lost rules, release-now; counted      own revision
//	                       by outbox
//	journal/               each transaction that changes a zone's content, under    nothing: no decision reads it
//	                       the number of its last step; trimmed by journal          (a trim: the name's creation)
//	condensed/             journal                                                  own revision, and the name's creation
//	orphans/               the write of the waiting object                          the range's revisions
//	outbox/                writes with pending work; rewritten and consumed by      own revision
//	                       outbox
//	asked                  a server that has lost twice at a zone                   nothing
//	config                 this package: format, key of the encryption              own revision
//
// # Locks
//
// All locks are local to a process; between servers, compares alone decide. They are taken from top to bottom.
//
//	lock               guards                                                                          during requests to etcd
//	queue.sem          a zone: a single batch of this process, as two would fail each other's           held
//	(commit)           compares. Several zones are locked in the order of their keys; a pending
//	                   cut has a lock too, taken first
//	group.deciding     the objects of a write's caller, during the decision                             held
//	(commit)
//	Memory.Mu          names, cached zones and their facts; queues, and this process's outbox           not held
//	(facts)            items (commit)
//	Set.mu             the arrived writes and the end of a change set; not the decision                 not held
//	others called mu   the fields beside them                                                           not held
//
// # Tests
//
// A story is a file of testdata with races in steps: write at server a, hold at a point, write at server b, show.
// TestStories executes all. TestRace_* and TestCascade_* depend on chance, load or the race detector.
//
// # Promises
//
// ledger/fsck recomputes all of them from the objects. (I1) No two objects of a resource ever have the same
// resourceVersion; a batch changes Records or Delegations of one zone, and that zone. (I2) The content of a zone at
// the revision of its last write is a function of the store at that revision: its records. (I3) Serial and hash
// change in the transaction that changes the content, once for each change. (I4) Pending work of a write on other
// objects is an outbox item or a pending cut in the same transaction, and removed in the transaction that completes
// the work. (I5) A decision is valid at the revision of its commit: all facts read are compared.
//
// I5 depends on a rule: every key of a zone changes only together with the zone's object, so one compare of the
// object covers all facts read at its revision. Names of zones, present or absent, are compared singly. The value of
// a name is its holding: state of the zone that writes of other zones need or change. The zone's own writes compare
// it. An example is the mark of a cascade, which locks the names of records that it brings from another zone (S2.10).
//
// All clients of etcd here use the versions of package subrev for etcd's revisions. Versions are compared and
// watched, and stored in no value.
//
// # Limits
//
// Out of scope: DNS transfer, views, HTTP and admission, which registry and apiserver add to Kubernetes' storage.
//
// ledger.go declares the Ledger, and migrate.go changes the form of the store. Read first: open.go, then record.go,
// zone.go and delegation.go, then write.go and storage.go; of the packages commit and facts, then outbox.
package ledger
