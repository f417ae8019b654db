// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease lets a single worker at a time write a delivery, one zone in one DNSClass. Before the first write to
// the provider, the worker stores an intent, with the serial that it begins to write, unless the stored state already
// reserves the delivery for it. Before each write, PassFence checks in the store that no other worker has begun.
//
// Guarantees:
//  1. No write begins after another worker's intent, a change of the class or zone, or the stop of the worker's Loop.
//  2. No write to the store replaces another worker's state.
//
// Out of scope: the content of zones.
//
// Read lease.go: Store first, then PassFence.
package lease
