// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger commits the decisions of the law: a single etcd transaction for the writes of a zone, with the
// Records, the Zone and all internal keys. It also does the pending work of a write on other objects: cascades and
// cuts in parents.
//
// # Rooms
//
// This package opens and migrates the store, is the storage under Kubernetes' storage (StorageClient, Records, Zones,
// Delegations, Set), decides in advance (Preview, EarlyRecord), and feeds views and budgets (Follow, FollowSizes).
// Each package below uses only those above it:
//
//	layout    keys and the encoding of values
//	etcd      operations, ranges and watches of any key
//	objects   requests from objects, and decisions in their status
//	journal   the retention of steps
//	facts     this server's memory of the store, and its proof
//	commit    the queue, decision and transaction of writes
//	outbox    the pending work of writes: cascades, cuts, sweeps
//
// Beside them are subrev (versions of objects inside a revision), encryption (of internal values) and fsck.
//
// # The life of a write
//
//	made       this package or outbox prepares the request to the law, the puts, and the zone that probably decides   commit.Write
//	queued     waits at that zone, with writes of other clients and cascades, without a lock                          commit/queue.go
//	decided    law returns Need (facts are looked up, or read for all at once), Refusal or Plan                       commit/batch.go
//	guarded    the facts of the decision become compares: Zones, names, facts that no Zone covers, ranges             facts/session.go
//	sent       a transaction: If the compares, Then objects, Zone, facts, a journal value, outbox, cuts               commit/transaction.go
//	applied    memory is updated, and each caller gets the version of its object                                      commit/answer.go
//	or lost    the moved keys are read; a write with a changed object is answered so, the others are decided again
//	or unknown memory forgets the facts concerned, and each caller gets the error; nothing is sent twice
//	owed       the work in outbox/ and debts/ is done at once, or by any server later                                 outbox
//
// # Keys
//
// The writer of each key, and the compare that proves the key unchanged to a decision. "With the Zone": only in a
// transaction that also puts the Zone object of that uid, and compares its revision.
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
//	Memory.Mu          names, heads of zones and their facts; queues, and this process's outbox         not held
//	(facts)            items (commit)
//	Set.mu             the arrived writes and the end of a change set; not the decision                 not held
//	others called mu   the fields beside them                                                           not held
//
// # Tests
//
// The race suite. A story is a file of testdata: write at a, hold at a point, write at b, show. Go tests depend on
// chance, load or the race detector.
//
//	story             shows                                                                                        rests on
//	races.txt         a held decision beside commits of another server: names, wildcards, CNAME, zones, rules,     I5
//	                  Delegations; and the damage without compares
//	two-servers.txt   stale memory refuses nothing and admits nothing; serials without a gap                       I3, I5
//	batches.txt       waiting writes share a transaction; requests that end, a full etcd, a lost response          I1, I3
//	sets.txt          a change set is a single step or nothing (S10)                                               I1, I3, I5
//	cascades.txt      between two steps no name is taken (S2.9), no mark stays (S7.2)                              I2, I4
//	crashes.txt       a server dies at each point of a write; another completes its pending work                   I4
//
//	test              shows                                                                                        rests on
//	TestRace_*        16 clients of two or three servers: as many serials as changes, a single claim of a name,    I3, I5
//	                  no record under a removed rule; and the damage without a compare
//	TestStories       the same step by step, with servers that die: no record is stolen, lost or written twice     I2, I4
//	TestCascade_*     cascades continue after any interruption; test/crash kills servers in them (F1)              I4
//
// # Promises
//
// ledger/fsck recomputes them from the objects. (I1) No two objects of a resource ever have the same resourceVersion;
// a batch changes Records or Delegations of one zone, and that zone. (I2) The definition of a zone at the revision of
// its last write is a function of the store at that revision: its records. (I3) Serial and hash change in the
// transaction that changes the definition, once for each. (I4) Pending work of a write on other objects is an outbox
// item or a pending cut in the same transaction, consumed in the transaction that completes the work. (I5) A decision
// is true at the revision of its commit: all facts read are compared.
//
// I5 depends on a rule: every key of a zone changes only together with the zone's object. So a fact stays true while
// the zone is at the revision at which the fact was read, and one compare covers all of them. Names of zones are
// compared by themselves, present or absent, so no fences are needed. Facts that writes of other zones need or change
// are in the holding of the zone's name, compared by the zone's own writes: for example the mark of a cascade that
// brings records from another zone, and locks their names (S2.10).
//
// All clients of etcd here use versions, made by package subrev from etcd's revisions. Versions are compared and
// watched, and stored in no value.
//
// # Limits
//
// Out of scope: DNS transfer, views, HTTP or admission; registry and apiserver plug it into Kubernetes' storage.
//
// ledger.go declares the Ledger, and migrate.go changes the form of the store. Read first: open.go, then record.go,
// zone.go and delegation.go, then write.go and storage.go; of the rooms commit and facts, then outbox.
package ledger
