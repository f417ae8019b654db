// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease lets a single worker at a time write a delivery (a zone in a class), in the store and at the provider.
// An intent is stored before the first write, and a fence, PassFence, checks the store before each write.
//
// Guarantees: (1) No write begins after another worker's intent, a change of the class or zone, or the Loop's stop. (2)
// No write replaces another worker's state.
//
// Out of scope: the content of zones, and the provider.
//
// Read lease.go: Store first, then PassFence.
package lease
