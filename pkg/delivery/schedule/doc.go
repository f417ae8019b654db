// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule runs attempts at the deliveries of zones. Each class has a queue of jobs, and delivers one of the
// zones with the same name (names.go).
//
// Guarantees: (1) Attempts at a delivery do not overlap. (2) A tenant has a share of a class's workers, never all. (3)
// If a provider asks for a pause, the whole class pauses. (4) Run returns after the last call to a provider.
//
// Out of scope: Kubernetes, and the kinds of providers.
//
// Read loop.go first, then attempt.go; queue.go does not depend on deliveries.
package schedule
