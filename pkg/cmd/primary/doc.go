// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package primary is the sub-command of the hidden primary, which reads zones over the API and serves transfers to
// secondaries.
//
// Guarantees:
//
//  1. No query is answered and no NOTIFY sent before every zone and class is read: an early secondary would learn that
//     a zone does not exist.
//  2. With --service, NOTIFY waits until the Service leads to this process: a secondary queries at once after a NOTIFY.
//  3. The last zones are served while the API does not answer.
//  4. After SIGTERM the primary becomes unready, finishes running transfers, and stops.
//  5. /readyz is 200 while the primary serves, else it lists the missing conditions. /metrics has no names of zones.
//
// Out of scope: the meaning of a zone, and the DNS protocol.
//
// Read run.go first, then options.go.
package primary
