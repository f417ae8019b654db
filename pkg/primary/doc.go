// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package primary serves zones to secondaries as a hidden primary: it answers SOA, AXFR and IXFR, sends NOTIFY, and
// answers queries of peers, the sources allowed to transfer. TSIG (RFC 8945) authenticates peers. Other sources learn
// nothing.
//
// Guarantees:
//
//  1. A transfer has the content of a single serial, or is visibly incomplete: the final SOA (RFC 5936 §2.2) is sent
//     only after every record. Memory does not grow with the zone.
//  2. A forbidden request is REFUSED, with the same octets whether or not the zone exists. A peer sees only zones of
//     DNSClasses that admit it. Bad signatures are answered first (RFC 8945 §5.2).
//  3. A source without access gets no answer longer than its question. UDP answers are bounded (message.go, reply.go).
//  4. Every message of an answer to a signed request is signed.
//  5. Each target gets a NOTIFY of a new serial at once, repeated until confirmed or NotifyAttempts. At most one NOTIFY
//     is in flight for a zone and target; later serials are coalesced.
//  6. Connections, transfers, messages and every wait are bounded (Config).
//  7. The catalog zone of a class (RFC 9432) lists exactly the class's zones, its members, from the first serial on.
//  8. Only UPDATEs (RFC 2136) signed by an update key, after this primary began, reach the Handler
//     (controller/updatekey.Poster), each once, by package updates. The client of an update key can read the key's
//     names, the SOA above them, and by AXFR the zones that the UpdateKey allows.
//  9. Before an UPDATE has a slot of its tenant (the key's namespace), its work is linear in the octets, so updates
//     delay neither questions nor other tenants.
//
// Zones come from an implementation of the interface Zones. A CNAME out of the zone ends the answer.
//
// Read answer.go first: it chooses the answers without I/O (type answer is in reply.go). Then query.go parses messages,
// resolve.go answers questions, transfer.go sends zones; class.go has a class, classes.go all with their keys, and
// notifier.go schedules NOTIFYs.
package primary
