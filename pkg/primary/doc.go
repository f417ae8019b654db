// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package primary is the hidden primary: it hands zones to secondaries by SOA, AXFR and
// IXFR over UDP and TCP, tells them of new serials by NOTIFY, and answers the plain
// questions of peers that may transfer. TSIG (RFC 8945) proves which peer asks; no other source learns
// anything.
//
// It promises:
//
//  1. A transfer is one serial's content, whole or visibly broken: it reads one immutable
//     snapshot, ends with the SOA it began with (RFC 5936 §2.2), and stops short of that SOA
//     when anything in between could not be sent. Its memory does not depend on the zone.
//  2. A forbidden request is REFUSED, in the same octets for a zone that is here and one
//     that is not. To a peer of one class the zones of others are not here. A bad signature
//     is answered as RFC 8945 §5.2 says, also without looking for the zone.
//  3. No message makes it panic, loop or send more than the question's size to a source that
//     is not allowed; over UDP an allowed one gets at most 1232 octets, 512 where no TSIG
//     proves its address, ANY as one RRset, and TC in the place of half an RRset.
//  4. Every signed request is answered by signed messages, each message of a transfer.
//  5. A new serial reaches each target as one NOTIFY at once, repeated until confirmed; at
//     most one is in flight for a zone and target, later serials are coalesced into it.
//  6. Connections, transfers, messages and every wait are bounded (Config).
//  7. The catalog zone of a class (RFC 9432) lists its members and nothing else, from the
//     first serial on; a zone made anew, or with another name, is another member.
//  8. An UPDATE (RFC 2136) is carried out for an update key alone, by package updates, and answered when that
//     has ended. The same octets are carried out once, and none that were signed before this primary began. A key
//     can read its own names, the SOA above them, and by AXFR the zones that its configuration allows.
//  9. Until a message has a slot of its tenant, the work for it is linear in its octets and those of its answer. So
//     updates delay no question, and no other tenant.
//
// It does not know where zones come from, which users may write them, or any Kubernetes object: it
// sees settled snapshots, and the difference to one, through the interface Zones. An IXFR
// from before what is kept gets the whole zone (RFC 1995 §4). It signs no zone (DNSSEC),
// decides no UPDATE and asks no other server: a CNAME out of its zone is where the answer ends.
//
// Read answer.go first: what is decided about a message, in which order; it does no I/O. query.go reads a message;
// resolve.go finds what a zone says, transfer.go streams it, or what is new in it; message.go writes a
// message, compress.go its names, reply.go what is not of a zone, package tsig signs.
// class.go says whose zones are whose peers', classes.go has all classes and keys, and what changed in them, catalog.go
// lists a class's zones, updater.go answers update keys, whose messages wait in package updates, access.go says which
// source is a peer. serve.go has the sockets and UDP; tcp.go has connections, with
// pkg/slots for their places; notifier.go says which target is told of which serial, notify.go sends that. primary.go
// puts the parts together.
package primary
