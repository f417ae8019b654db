// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decision decides the next action of a delivery (one zone in one class) and the state afterwards. An attempt
// calls Next, performs the Action, adds the result to the Facts and calls Next again.
//
// Guarantees: (1) Decisions depend on Memory and Facts alone. (2) All RRsets possibly half written are in the state
// stored before the first write, or follow from that state and the zone's changes.
//
// Out of scope: stores, providers, views and clocks.
//
// Read memory.go and facts.go first, then decide.go.
package decision
