// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package primary is a hidden primary, a DNS server from which other name servers, the secondaries, transfer zones. It
// answers SOA, AXFR and IXFR, sends NOTIFYs, and answers queries of peers, the sources that may transfer zones. Peers
// are identified by address or TSIG key (RFC 8945). Other sources learn nothing.
//
// Guarantees:
//
//  1. A transfer has the content of a single serial, or is visibly incomplete: the final SOA (RFC 5936 §2.2) is sent
//     only after every record. Memory use does not grow with the zone.
//  2. A forbidden request gets REFUSED, with the same octets whether or not the zone exists. A peer sees only the zones
//     of DNSClasses that admit it. Bad signatures are answered first (RFC 8945 §5.2).
//  3. A source without access gets no answer longer than its question. The size of UDP answers is limited.
//  4. Every message of an answer to a signed request is signed.
//  5. Each target gets a NOTIFY for a new serial at once, repeated until the target confirms it or NotifyAttempts is
//     reached. At most one NOTIFY is in flight for a zone and target. Later serials are coalesced.
//  6. Connections, transfers, messages and waits are limited (Config).
//  7. The catalog zone (RFC 9432) of a class of secondaries lists exactly the class's zones, from the first serial on.
//  8. An UPDATE (RFC 2136) reaches the Handler (controller/updatekey.Poster) only once, and only if an update key
//     signed it after this primary started.
//  9. The client of an update key can read the key's names, the SOA above them, and by AXFR the zones that the
//     UpdateKey allows.
//  10. Updates delay neither questions nor other tenants.
//
// An answer ends at a CNAME that leaves the zone.
//
// updates takes UPDATE messages in, and replay refuses repeated ones.
//
// For: processes that serve zones, near the store or far from it. Imports: kit, dns, apis, views of zone.
//
// Read answer.go first, which chooses the answers without I/O, then query.go.
package primary
