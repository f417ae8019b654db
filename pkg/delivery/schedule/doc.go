// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule has the Loop, which keeps every (zone, class) at the zone's settled serial.
//
// It promises what package delivery says: what is written is fenced, nothing is given up for good, one slow zone or
// class holds up no other, and what may stand half written is known after every crash. (1) At most one attempt at a
// delivery is under way. (2) A tenant has a share of the workers of a class, and never all of them. (3) A class whose
// provider wants to be left alone rests as a whole.
//
// It does not know Kubernetes: classes come in as values, statuses go out through interfaces that it declares. It
// imports no kind of provider.
//
// An attempt at a delivery asks next (decide.go) what to do, carries that out (attempt.go) and asks again. The
// decision is a function of what is stored, what this process remembers, what is desired, the zone, the names of
// others and the time; testdata tells it in stories.
//
// Read loop.go first, then memory.go, decide.go, attempt.go; queue.go knows nothing of deliveries.
package schedule
