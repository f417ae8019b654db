// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dns defines the DNS types that all of Kubizone shares. An Entry is a resource record of a zone, such as
// www.example.org. 300 IN A 192.0.2.1. A Change contains the Entries removed and added between two serials of a zone.
// The packages below have names (name), types and values of records (rdata), serials (serial), zone files (zonefile),
// probable mistakes (mistakes), the changes that an UPDATE asks for (update), transfers as a client (transfer), and
// TSIG (tsig).
//
// Guarantees:
//
//  1. A package imports no other house: a program without Kubernetes can use it.
//  2. No package but transfer and tsig, which dial, read files and clocks, does I/O or blocks.
//  3. Values are immutable.
//
// For: whatever reads or writes DNS. Read entry.go, then name/name.go.
package dns
