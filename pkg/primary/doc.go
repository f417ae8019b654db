// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package primary is a hidden primary: it serves zones to secondaries by SOA, AXFR and IXFR over UDP and TCP, sends
// NOTIFY, and answers questions of peers, the sources that may transfer. TSIG (RFC 8945) authenticates peers. Other
// sources learn nothing.
//
// Guarantees:
//
//  1. A transfer has the content of a serial, or is visibly incomplete: it reads an immutable snapshot, and ends with
//     the initial SOA (RFC 5936 §2.2) only if every record was sent. Its memory does not grow with the zone.
//  2. A forbidden request is REFUSED, with the same octets whether or not the zone exists. A peer sees only zones of
//     its DNSClasses. A bad signature is answered as in RFC 8945 §5.2, without a search for the zone.
//  3. No message causes a panic or loop, or an answer longer than the question to a source without access. A UDP answer
//     has at most 1232 octets (512 if no TSIG proves the address), a single RRset for ANY, and TC instead of a partial
//     RRset.
//  4. Every message of an answer to a signed request is signed.
//  5. A new serial is sent to each target by one NOTIFY at once, repeated until confirmed. At most one is in flight for
//     a zone and target; later serials are coalesced.
//  6. Connections, transfers, messages and every wait are bounded (Config).
//  7. A class's catalog zone (RFC 9432) lists exactly its members, from the first serial on. A recreated or renamed
//     zone is another member.
//  8. Only an update key's UPDATE (RFC 2136) is applied, by package updates, and then answered. A message is applied
//     once, and not if signed before this primary began. A key can read its own names, the SOA above them, and by AXFR
//     the zones that its configuration allows.
//  9. Until a message has a slot of its tenant, the work is linear in the octets of message and answer. So updates
//     delay neither questions nor other tenants.
//
// Out of scope: the origin of zones (the interface Zones provides settled snapshots and differences), users, Kubernetes
// objects, DNSSEC signing, decisions about UPDATEs, and other servers: a CNAME out of the zone ends the answer.
//
// Read answer.go first: the decisions about a message, in order, without I/O. query.go parses a message; resolve.go
// resolves a question, transfer.go sends a zone or difference; message.go packs a message, compress.go its names,
// reply.go other answers, package tsig signs. class.go has a class's zones and peers, classes.go all classes and
// keys, catalog.go the catalog zone, updater.go answers update keys, whose messages wait in package updates,
// access.go the rules for sources. serve.go has the sockets and UDP; tcp.go connections, with slots of pkg/slots;
// notifier.go schedules NOTIFYs, notify.go sends them. primary.go puts the parts together.
package primary
