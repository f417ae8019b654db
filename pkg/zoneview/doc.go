// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zoneview holds zones as they are read back: a Snapshot is the whole
// definition of one zone at one serial, a Set the zones of this process with
// their recent steps. The journal's steps lead from snapshot to snapshot.
//
// It promises:
//  1. A Snapshot never changes. Neighbours share all that no step between them
//     touched, so a step costs the size of the step, not of the zone.
//  2. A step is applied only if it fits: its N and serial follow, the header and
//     TTLs it replaces are the ones in place, the rows it removes are there,
//     those it adds are not, and the content state after it is the one it
//     claims. Otherwise nothing changes and the error (ErrMisfit) names the
//     zone, the step and the difference; start over from a listing.
//  3. Apply and Undo are inverse to each other.
//  4. In a Set a transaction is seen whole or not at all; a step already
//     applied is passed over, so a feed may overlap. Settled snapshots are only
//     replaced by settled ones (S7.2).
//  5. Everything is bounded: steps by Config.Retain and Config.Octets, events by the number of
//     zones, waiting by the caller's context.
//
// It does not know where zones come from or go to, has no clock and starts no
// goroutine but one for each subscription.
//
// Read snapshot.go, then apply.go and set.go.
package zoneview
