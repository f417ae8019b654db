// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transfers has BIND, Knot, PowerDNS and dig talk to the hidden primary: each test file proves a promise of its
// protocols. The zones come from master files, without an API server.
//
// Guarantees:
//
//  1. A secondary has exactly the zone's records, in any number of messages, signed or not (S5.11, RFC 5936 §2.2,
//     coredns/coredns#7859).
//  2. A zone that joins its class appears on each server that follows the catalog zone (RFC 9432), and disappears on
//     leaving, also while the primary is down.
//  3. BIND and Knot follow a zone by IXFR only, over many steps at once and in a single packet; without a history, they
//     get the whole zone (RFC 1995 §2, §4).
//  4. A secondary has a new serial within a second of the change, by NOTIFY only, signed or not (RFC 1996).
//  5. The primary answers plain queries as BIND and Knot do with the same zones.
//
// Read axfr_test.go first.
package transfers
