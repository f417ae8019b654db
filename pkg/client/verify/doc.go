// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verify compares the records of name servers with the content of a zone, for commands such as `kubectl
// kubizone verify`. It transfers the zone from each server. A Comparison finds the servers by the Deliveries of a Zone.
//
// Guarantees:
//
//  1. Server and zone are parsed by the same reader: owner, type, TTL and each value count, spelling does not.
//  2. If a server refuses transfers, each RRset is queried. Other data of the server is then unseen, and the report
//     says so.
//  3. An unreachable server, or an answer without a required signature, gets the state Failed.
//
// Read comparison.go first, then compare.go.
package verify
