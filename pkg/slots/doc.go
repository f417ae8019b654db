// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slots bounds the connections or transfers that a server handles at once, with a share for each client: an
// address, a network or a tenant.
//
// Guarantees:
//
//	L1. Within their shares clients take at most total slots, beyond their shares at most spare slots.
//	L2. If all slots are taken, the oldest work is ended (cut) for a new slot. A slot without a function cut is never
//	    ended.
//	L3. A client with a full share takes only spare slots, and cuts none.
//	L4. TakeInOrder serves the callers of a client in order of arrival.
//
// Read slots.go.
package slots
