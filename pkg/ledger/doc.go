// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger carries out what law decides: one etcd transaction for one or more writes of a zone, with the
// Records, the Zone and every internal key that follows from them. It also pays what a write owes elsewhere: cascades
// and parents' cuts.
//
// # Rooms
//
// This package is the door: it opens the store and migrates it, stands under Kubernetes' storage (StorageClient,
// Records, Zones, Delegations, Set), decides ahead (Preview, EarlyRecord), and tells views and budgets what is
// written (Follow, FollowSizes). Its work is done by the packages below, each of which knows those above it alone:
//
//	layout    where keys stand, and how values are encoded
//	etcd      operations, ranges and watches of any key
//	objects   what an object asks for, and what a decision says in its status
//	journal   how long steps stay
//	facts     what this server knows of the store, and what proves it
//	commit    writes: their queue, their decision, their transaction
//	outbox    what writes owe: cascades, cuts, sweeps
//
// Beside them stand subrev (versions of objects inside a revision), encryption (of internal values) and fsck.
//
// # The life of a write
//
//	made       the door or the outbox says what to ask the law, what to put, and which zone will probably decide it   commit.Write
//	queued     it waits at that zone, with those of other clients and cascades, and holds nothing                     commit/queue.go
//	decided    law answers Need (facts are looked up, or read for all at once), Refusal or Plan                       commit/batch.go
//	guarded    what the decision rests on becomes compares: Zones, names, facts that no Zone covers, ranges           facts/session.go
//	sent       one transaction: If the compares, Then objects, Zone, facts, one journal value, outbox, cuts           commit/transaction.go
//	applied    memory moves on, and each caller is told the version of its object                                     commit/answer.go
//	or lost    what has moved is read; a write whose own object has changed is told so, the others are decided anew
//	or unknown what depends on it is forgotten, and each caller is told; nothing is sent twice
//	owed       what it left in outbox/ and debts/ is carried out at once, or by any server later                      outbox
//
// # Keys
//
// The writer of each key, and the compare that proves to a decision that the key is as it was read. With the Zone
// means: only in a transaction that puts the Zone object of that uid too, whose revision is compared.
//
//	key                    written by                                               proved by
//	objects                the door, and the outbox in cascades                     their own revision
//	names/                 what makes or removes a zone; marks of                  its own revision, 0 where nothing stands
//	                       cascades (outbox)
//	serials/               what removes a zone; swept by the outbox                 its own revision
//	owners/                writes of Records, with the Zone                         the Zone's revision
//	members/ counts/       the same                                                 the Zone's revision
//	rules/                 writes of Delegations, with the Zone                     the Zone's revision
//	cuts/                  the outbox, with the parent's Zone                       the Zone's revision
//	debts/                 what changes a child's apex; consumed with cuts/         its own revision
//	journal/               each transaction that changes a zone's content, under    nothing: no decision reads it
//	                       the number of its last step; trimmed by journal          (a trim: the name's creation)
//	condensed/             journal                                                  its own revision, and the name's creation
//	orphans/               the write of the object that waits                       the range's revisions
//	outbox/                what owes; rewritten and consumed by the outbox          its own revision
//	asked                  a server that has lost twice at a zone                   nothing
//	config                 the door: format, key of the encryption                     its own revision
//
// # Locks
//
// All are of one process; what two servers do at once is proved by compares alone. They are taken from top to bottom.
//
//	lock               guards                                                                          while etcd is asked
//	queue.sem          a zone: one batch of this process at a time, so that two do not fail each       held
//	(commit)           other's compares. Of several zones they are taken in the order of the keys;
//	                   the key of a pending cut has one too, which its payers take first
//	group.deciding     the objects of a write's caller, while the write is decided                      held
//	(commit)
//	Memory.Mu          names, heads of zones and their facts; queues, and items of the outbox that     not held
//	(facts)            are this process's (commit)
//	Set.mu             which writes of a change set have come, and their end; not the decision         not held
//	others called mu   the fields beside them                                                          not held
//
// # Tests
//
// The race suite. A story is a file of testdata: write at a, hold at a point, write at b, show. Go tests
// count on chance, load or the race detector.
//
//	story             shows                                                                                        rests on
//	races.txt         one server has decided and is held, another commits: names, wildcards, names below, CNAME,   I5
//	                  zones that come or go, rules, Delegations; and the damage where compares are left out
//	two-servers.txt   what is remembered wrongly refuses nothing and lets nothing in; serials without a gap        I3, I5
//	batches.txt       writes that wait are one transaction, each decided on those before it; requests that end,    I1, I3
//	                  a full etcd, an answer that is lost
//	sets.txt          a change set is one step or nothing, whatever comes between its items (S10)                  I1, I3, I5
//	cascades.txt      between two steps no name is taken (S2.9), no mark stays (S7.2)                              I2, I4
//	crashes.txt       a server dies at each point of a write; another one finishes what it owed                    I4
//
//	test              shows                                                                                        rests on
//	TestRace_*        16 clients of two or three servers: as many serials as changes, one claim of a name, no      I3, I5
//	                  record behind a rule that went; with a compare left out the damage is seen
//	TestStories       the same step by step, with servers that die: none is stolen, lost or written twice          I2, I4
//	TestCascade_*     a cascade goes on wherever it was interrupted; test/crash kills servers in it (F1)           I4
//
// # Promises
//
// ledger/fsck recomputes them from the objects. (I1) Two objects of one resource never have one resourceVersion; a
// batch changes Records or Delegations of one zone, and that zone. (I2) The definition of a zone at the
// revision of its last write is a function of the store at that revision: its records. (I3) Serial and hash change in
// the transaction that changes the definition, once for each. (I4) What a write owes elsewhere is an outbox item or a
// pending cut in the same transaction, consumed in the transaction that pays it. (I5) A decision holds at the
// revision it commits: everything it read is compared.
//
// I5 rests on one rule: every key that belongs to a zone changes only together with the zone's object. So a fact once
// read stays true while the zone stands at its revision, and one compare covers all of them. Names of zones are
// compared by themselves, present or absent, which is why no fences are needed. What one zone must know of another's
// write stands in the holding under its name, which its own writes compare: a zone that lost there, a cascade that
// brings records, and locks their names until they have come (S2.10).
//
// All clients of etcd in it speak of versions, which package subrev makes of etcd's revisions: they are compared and
// watched from, and stand in no value. The version of a zone or record is in the answer to its own write.
//
// # Limits
//
// It does not know DNS transfer, views, HTTP or admission; registry and apiserver plug it into Kubernetes' storage.
//
// ledger.go declares the Ledger, and migrate.go changes the form of what is stored. Read first: open.go, then
// record.go, zone.go and delegation.go, then write.go and storage.go; of the rooms commit and facts, then outbox.
package ledger
