// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slots bounds the simultaneous connections or transfers of a server, with a share for each client.
//
// Guarantees:
//
//	L1. Within their shares clients take at most total slots, beyond their shares at most spare slots.
//	L2. If all slots are taken, the oldest slot is cut for a new slot, unless its function cut is nil.
//	L3. A client with a full share takes only spare slots, and cuts none.
//	L4. TakeInOrder serves the callers of a client in order of arrival.
//
// Out of scope: the work in the slots.
//
// Read slots.go.
package slots
