// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease keeps the right of an attempt to write a delivery: in the store, and at the provider.
//
// Before the first call outside it records an intent, which says what may stand half written; before each further one
// it looks whether that still stands. A worker whose own confirmation is the last word on the zone records none, and
// looks whether it still is.
//
// It promises: (1) No call outside begins after another worker has recorded an intent, the class or the zone has
// changed, or the loop is to stop (F22). (2) A state is written over no state of another worker. (3) What may stand
// half written is stored, or follows from the confirmed serial of this worker.
//
// It does not know what is delivered, nor the provider: it imports the words of a delivery, and the memory that it
// keeps in step with the store.
//
// Read lease.go: Store first, then PassFence.
package lease
