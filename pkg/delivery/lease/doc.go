// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease lets a single worker at a time write a delivery (a zone in a class), in the store and at the provider.
// An intent is stored before the first write, and a fence, PassFence, checks the store before each write.
//
// Guarantees: (1) No write begins after another worker's intent, a change of the class or zone, or the Loop's stop. (2)
// No write replaces another worker's state. (3) RRsets possibly half written are stored, or follow from the confirmed
// serial and the zone's changes.
//
// Out of scope: the content of zones, and the provider.
//
// Read lease.go: Store first, then PassFence.
package lease
