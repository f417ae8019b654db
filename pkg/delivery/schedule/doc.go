// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule decides when zones are delivered to name servers. Each DNSClass has a queue of deliveries, and
// workers that attempt them after a change of the zone, and again after a failure.
//
// Guarantees:
//  1. Attempts at a delivery do not overlap.
//  2. A tenant never occupies all workers of a class.
//  3. If a provider (the client of a class's servers) asks for a pause, the whole class pauses.
//
// Read loop.go first, then attempt.go; queue.go does not depend on deliveries.
package schedule
