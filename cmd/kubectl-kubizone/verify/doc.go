// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verify is the command kubectl kubizone verify. It asks each name server of a zone for its content, and
// compares the answers with the API.
//
// Guarantees:
//  1. Nothing changes without --repair. A difference or a missing answer is an error.
//  2. Each server of a flag, or of the zone's Deliveries, has a line. A server not queried has a question mark, and
//     causes an error.
//  3. Queries to a class's server are signed with its TSIG key, if the user may read it.
//  4. Servers are compared with the delivered zone: if changes are held back, with the content at status.settledSerial.
//
// Read verify.go, then providers.go.
package verify
