// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package heartbeat reports which processes of Kubizone work: replicas renew Leases, and others watch them.
//
// Guarantees: (1) A replica renews a Lease of its own every Interval while ready, and takes over a Lease only after
// EndAfter without a change. If clocks differ by more, the other replica takes another Lease. (2) Life.Ended is set
// only when no known Lease of a process has changed for EndAfter, by the watcher's clock: skewed clocks end nothing.
// (3) While the API server does not answer, a Life stays.
//
// Out of scope: election (package process), and the conditions about an end (package ready).
//
// Read first: life.go follows Leases, beat.go renews a Lease.
package heartbeat
