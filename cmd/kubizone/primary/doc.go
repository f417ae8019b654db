// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package primary is the command kubizone primary, the hidden primary: a DNS server that reads zones from Kubizone's
// API, and from which secondaries transfer them.
//
// Guarantees:
//  1. No query is answered and no NOTIFY sent before every zone and class is read. Otherwise a secondary could learn
//     that a zone does not exist.
//  2. With --service, NOTIFY also waits until that Service forwards packets to this process, because a secondary
//     queries at once after a NOTIFY.
//  3. While the API does not answer, the last zones are served.
//  4. After SIGTERM the primary becomes unready, finishes running transfers, and stops.
//
// Read run.go first, then options.go.
package primary
