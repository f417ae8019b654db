// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slots limits the connections or transfers that a server handles at once, with a share for each client: an
// address, a network or a tenant.
//
// Guarantees:
//
//	L1. New sets the number of slots and the share of each client. WithSpare adds slots for clients with a full share.
//	L2. If all slots are taken, the oldest work is ended for new work. Work without a function to end it goes on.
//	L3. A client with a full share takes only spare slots, and ends no other work.
//	L4. TakeInOrder serves the callers of a client in order of arrival.
package slots
