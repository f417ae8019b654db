// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decision decides the next action of a worker for a delivery, one zone in one DNSClass: for example, write
// changes to the provider, compare, wait, or remove the zone. An attempt calls Next, performs the returned Action, adds
// the result to the Facts (the observed state), and calls Next again. Memory is the state between attempts.
//
// Guarantees:
//  1. Decisions depend on Memory and Facts alone.
//  2. After a crash, the next worker knows all RRsets that may be half written. They are in the state stored before the
//     first write, or follow from that state and the zone's changes.
//
// Read memory.go and facts.go first, then decide.go.
package decision
