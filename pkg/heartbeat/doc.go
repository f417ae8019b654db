// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package heartbeat tells which processes of Kubizone work: each replica renews a Lease, and others watch these Leases.
//
// Guarantees: (1) A replica renews a Lease of its own every Interval while it is ready. It takes over none that changed
// within EndAfter, unless the clocks of two replicas differ by more; then the other replica takes another Lease. (2)
// Life.Ended is set only when no known Lease of a process has changed for EndAfter, by the clock of the watcher: skewed
// clocks end nothing. Without a Lease of the process nothing is known. (3) While the API server does not answer, a Life
// stays as it was.
//
// Out of scope: election (package process), and the conditions that tell of an end (package ready).
//
// Read first: life.go follows Leases, beat.go renews one.
package heartbeat
