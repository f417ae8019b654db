// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store is the floor that the ledger's tests stand on: one embedded
// etcd member for a test binary, servers over it (a ledger with the decorated
// storage of Zones and Records), and objects to write.
//
// It promises: (1) Each Store has a prefix of its own, so tests share a member
// and nothing else. (2) Every Store is checked by fsck when its test ends, unless
// the test says that it damages it on purpose. (3) Two servers of one Store have
// two connections and share no memory, as two processes would.
//
// It does not know HTTP, admission or DNS: writes go straight to the storage.
//
// Read first: store.go, then objects.go.
package store
