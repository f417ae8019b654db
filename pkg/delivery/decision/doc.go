// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decision decides the next action of a delivery (one zone in one class) and the state after the action. An
// attempt calls Next, performs the Action, adds the result to the Facts and calls Next again.
//
// Guarantees: (1) A decision depends on Memory and Facts alone. (2) A failed delivery has a retry time, or waits for a
// change. (3) All RRsets possibly half written are in the state recorded before the first write at the provider, or
// follow from the stored state and the zone's changes.
//
// Out of scope: stores, providers, views and clocks.
//
// Read memory.go and facts.go first, then decide.go. outcome.go has the results of actions, refused.go the retries of
// refused RRsets, tried.go the plans of an attempt, takeover.go the intents of other workers.
package decision
