// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verify is the sub-command that compares the servers of a zone with the API.
//
// Guarantees:
//
//  1. Nothing changes without --repair. A difference or missing answer is an error.
//  2. Every server of a flag and of the zone's Deliveries has a line. A server not queried has a question mark, is
//     never current, and causes an error.
//  3. Queries to a class's server are signed with its key, if the user may read it. No key is printed.
//  4. Servers are compared with the delivered zone: if unsettled, the content at status.settledSerial.
//  5. A server ahead of the zone is compared once more, as the zone may have changed.
//
// Out of scope: the comparison (pkg/verify).
//
// Read verify.go, then deliveries.go.
package verify
