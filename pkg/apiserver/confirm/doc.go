// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package confirm writes the Ready of Records from the Deliveries of their zones, in transactions of many Records.
//
// Guarantees: (1) A Record is Ready while every class in force has confirmed its serial to the class's present
// target, and otherwise has the reason (S6.13). (2) A Record is written only if unchanged since it was judged, so no
// Ready is older than its content. (3) In a zone wrongly Ready Records come first, then the latest changes, a page of
// each namespace in turn; writes without a change of the Record have a bounded rate. (4) Clients come first: the
// server pauses between transactions while clients write. (5) A single server writes, and another goes on when it
// dies.
//
// Out of scope: providers, nor which classes are in force: package ready does.
//
// Read first: confirm.go has the life of the elected server, write.go a turn at one zone, tracker.go the Records that
// wait, leader.go the state.
package confirm
