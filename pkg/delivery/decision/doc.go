// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decision decides the next action for a delivery, the task to keep a zone up to date at the servers of a
// DNSClass. Examples are to write changes, to compare, to wait, and to remove the zone. An attempt calls Next, performs
// the returned Action, adds the result to the Facts (the observed state), and calls Next again. Memory is the state
// between attempts.
//
// Guarantees:
//  1. Decisions depend on Memory and Facts alone.
//  2. After a crash, the next worker knows all RRsets that may be half written. They are listed in the state stored
//     before the first write, or are among the zone's changes since that state.
//
// Read memory.go and facts.go first, then decide.go.
package decision
