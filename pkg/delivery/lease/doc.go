// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease lets a single worker at a time write a delivery, one zone in one DNSClass, to name servers. A worker
// takes over by storing an intent: its name, and the serial that it begins to write. A lease has no expiry.
//
// Guarantees:
//  1. PassFence, the check before each write, fails once another worker has stored an intent, the class or zone has
//     changed, or the worker's Loop (the scheduler) stops. A write that passed before may arrive late, so the other
//     worker repeats its own.
//  2. No write to the store replaces another worker's state.
//
// Read lease.go: Store first, then PassFence.
package lease
