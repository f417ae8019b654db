// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease lets a single worker at a time write a delivery (a zone in a class), in the store and at the provider.
// Before its first write at the provider, a worker records an intent, with the RRsets possibly left half written. The
// fence checks that intent before each further write. A worker that confirmed the last serial checks its confirmation
// instead.
//
// Guarantees: (1) No write begins after another worker has recorded an intent, after a change of the class or the zone,
// or after the Loop was stopped. (2) A write never replaces a state of another worker. (3) RRsets possibly half written
// are stored, or follow from this worker's confirmed serial.
//
// Out of scope: the content of zones, and the provider.
//
// Read lease.go: Store first, then PassFence.
package lease
