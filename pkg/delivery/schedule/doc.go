// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule has the Loop: it is told which zones and classes there are, and gives each (zone, class) an attempt
// whenever there may be something to do.
//
// A class has a queue of jobs (queue.go). In a class one zone has a name (names.go). A delivery learns from the others
// of its class and its zone what it may do (others.go). An attempt carries out what package decision decides, until
// there is nothing left that can be done now (attempt.go).
//
// It promises: (1) At most one attempt at a delivery is under way. (2) A tenant has a share of the workers of a class,
// and never all of them. (3) A class whose provider wants to be left alone rests as a whole. (4) When Run ends, no call
// outside is under way.
//
// It does not know Kubernetes: classes come in as values, statuses go out through interfaces that it and package
// lease declare. It imports no kind of provider.
//
// Read loop.go first, then attempt.go; queue.go knows nothing of deliveries.
package schedule
