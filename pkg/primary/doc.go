// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package primary serves zones to secondaries as a hidden primary: it answers SOA, AXFR and IXFR over UDP and TCP,
// sends NOTIFY, and answers queries of peers, the sources allowed to transfer. TSIG (RFC 8945) authenticates peers.
// Other sources learn nothing.
//
// Guarantees:
//
//  1. A transfer has the content of a single serial, or is visibly incomplete: the final SOA (RFC 5936 §2.2) is sent
//     only after every record. Memory does not grow with the zone.
//  2. A forbidden request is REFUSED, with the same octets whether or not the zone exists. A peer sees only zones of
//     DNSClasses that admit it. A bad signature is answered as in RFC 8945 §5.2, without a search for the zone.
//  3. A source without access gets no answer longer than its question. A UDP answer has at most 1232 octets (512
//     without TSIG), a single RRset for ANY, and TC instead of a partial RRset.
//  4. Every message of an answer to a signed request is signed.
//  5. Each target gets a NOTIFY of a new serial at once, repeated until confirmed or NotifyAttempts. At most one NOTIFY
//     is in flight for a zone and target; later serials are coalesced.
//  6. Connections, transfers, messages and every wait are bounded (Config).
//  7. The catalog zone of a class (RFC 9432) lists exactly the class's zones, its members, from the first serial on. A
//     recreated or renamed zone is a new member.
//  8. Only UPDATEs (RFC 2136) signed by an update key are handed to a Handler, each once, by package updates, and none
//     signed before this primary began. A client with an update key (object UpdateKey) can read the key's names, the
//     SOA above them, and by AXFR the zones that the key's configuration allows.
//  9. Before an UPDATE has a slot of its tenant (the key's namespace), the work is linear in the octets of message and
//     answer, so updates delay neither questions nor other tenants.
//
// Out of scope: the source of zones (the interface Zones), users, Kubernetes objects, DNSSEC signing, decisions about
// UPDATEs, and other servers: a CNAME out of the zone ends the answer.
//
// Read answer.go first: it chooses the answers without I/O. query.go parses messages; resolve.go answers questions,
// transfer.go sends zones and differences; message.go packs messages, compress.go names, reply.go other answers.
// class.go has a class, classes.go all classes and keys, catalog.go the catalog zone, updater.go the answers to update
// keys, access.go the rules for sources. serve.go serves UDP, tcp.go TCP; notifier.go schedules NOTIFYs, notify.go
// sends them. primary.go puts the parts together.
package primary
