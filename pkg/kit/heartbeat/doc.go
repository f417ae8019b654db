// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package heartbeat reports when a process of Kubizone, such as the controller, has ended. Each replica renews a
// Kubernetes Lease (Beat). The API server and the controller follow the Leases (Watcher), and name the ended process in
// the conditions of waiting Zones and Records.
//
// Guarantees:
//
//  1. While ready, a replica renews a Lease of its own every ten seconds (Interval). If there are more than eight
//     replicas (Places), the others have none.
//  2. A replica takes over another's Lease only after thirty seconds (EndAfter) without a change, if their clocks
//     agree.
//  3. A process has ended (Life.Ended) only when none of its Leases has changed for EndAfter by the watcher's clock, so
//     a replica's wrong clock ends nothing.
//  4. While the API server does not answer, a process keeps the last known state (Life).
//
// Read first: life.go, beat.go.
package heartbeat
