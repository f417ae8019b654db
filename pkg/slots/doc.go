// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slots limits the connections or transfers that a server handles at once, with a share for each client: an
// address, a network or a tenant.
//
// Guarantees:
//
//	L1. New limits the slots that clients take within their shares, and WithSpare those beyond.
//	L2. If all slots are taken, the oldest work is ended for a new slot. Work without a function to end it is never
//	    ended.
//	L3. A client with a full share takes only spare slots, and ends no work.
//	L4. TakeInOrder serves the callers of a client in order of arrival.
package slots
