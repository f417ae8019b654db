// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger stores Zones, Records and Delegations in etcd. Package law decides each write, and a single etcd
// transaction commits it with the zone's new serial and all internal keys. Other objects follow as pending work: a
// cascade decides many Records or zones again, and a pending cut (NS, glue and DS of a child zone) enters the parent
// zone.
//
// # Packages
//
// This package opens and migrates the store, and commits the writes of Kubernetes' storage (StorageClient, Records,
// Zones, Delegations, Set). It previews writes (Preview, EarlyRecord), and reports changes to views and budgets
// (Follow, FollowSizes). A package uses only packages above it:
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
// Beside them: subrev (unique resourceVersions in a transaction), encryption (of internal values) and fsck.
//
// # The life of a write
//
//	                                                                           Go type         file
//	made        request to the law, puts, and the zone that probably changes   commit.Write    record.go
//	queued      in that zone's queue, with writes of clients and cascades      queue, group    commit/queue.go
//	decided     law returns Need (facts to look up or read), Refusal or Plan   law.Outcome     commit/batch.go
//	guarded     by compares of the facts: Zones, names, single keys, ranges    facts.Session   facts/session.go
//	sent        If compares, Then objects, Zone, facts, journal, outbox, cuts  batch, puts     commit/transaction.go
//	applied     to memory; each caller gets the version of its object          commit.Outcome  commit/answer.go
//	or lost     if a compare failed: decided again, or by the caller if its object has changed
//	or unknown  if etcd did not answer: memory drops the facts, callers get the error
//	pending     until the work in outbox/ and debts/ is done, by any server    law.Work        outbox/run.go
//
// A law.Write sets an internal key. Set here and commit.Set are change sets; rules.Set has the rules of a zone.
//
// # Keys
//
// Each key with its writers (an object's, or a package) and its proof. "The Zone" means that the transaction also puts
// the Zone object of that uid, whose revision is compared.
//
//	key                         written by                                              proved by
//	objects                     this package; outbox in cascades                        own revision
//	names/                      creation and removal of a zone; outbox marks cascades   own revision, 0 if absent
//	serials/                    removal of a zone; outbox                               own revision
//	owners/ members/ counts/    Records                                                 the Zone
//	rules/                      Delegations                                             the Zone
//	cuts/                       outbox, in the parent                                   the Zone
//	debts/                      changes of a child's apex; outbox                       own revision
//	withdrawn/                  cascades that find lost rules, release-now; outbox      own revision
//	journal/                    changes of content; journal                             no decision reads it
//	condensed/                  journal                                                 own revision, the name's creation
//	before/                     Records; history                                        no decision reads it
//	archived/ history/ shares/  history; Delegations that leave a zone                  no decision reads them
//	orphans/                    the waiting object                                      the range's revisions
//	outbox/                     writes with pending work; outbox                        own revision
//	config                      this package                                            own revision
//
// # Locks
//
// Locks are local, taken from top to bottom. Between servers, only compares decide.
//
//	lock                     guards                                                     during requests to etcd
//	queue.sem (commit)       a zone, so that two batches do not fail each other's       held
//	                         compares. Several zones are locked in key order, after
//	                         pending cuts
//	group.deciding (commit)  the objects of a write's caller, during the decision       held
//	Memory.Mu (facts)        names, cached zones and facts, queues, outbox items        not held
//	Set.mu                   the arrived writes and the end of a change set             not held
//
// # Promises
//
// ledger/fsck recomputes all from the objects. (I1) Objects of a resource share no resourceVersion, and a batch changes
// a single zone. (I2) A zone's content follows from the store at the zone's last revision. (I3) Serial and hash change
// with the content, once for each change. (I4) Pending work is stored by the write's transaction, and removed by the
// last of its own. (I5) A decision is valid at the revision of its commit: a key of a zone changes only with the zone's
// object, so a compare of the object covers all facts read at its revision. Names of zones are compared singly.
//
// All etcd clients here replace revisions by versions (subrev).
//
// # Limits
//
// Read first: open.go, then record.go, zone.go and delegation.go, then write.go and storage.go; of the packages commit
// and facts, then outbox.
package ledger
