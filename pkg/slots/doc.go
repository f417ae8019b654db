// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slots bounds how many connections or transfers a server has at once, with a share for each client.
//
// It promises:
//
//	L1. Within their shares clients take no more slots than there are in total, beyond them no more than are spare.
//	L2. A slot that may be cut gives way to a newer one where all are taken, the oldest first.
//	L3. A client that has its share takes no slot of another client, nor has one of another client cut.
//	L4. Those that take in order for one client have their slots in the order in which they came.
//
// It does not know what has a slot.
//
// Read slots.go.
package slots
