// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store is the base of the ledger's tests: an embedded etcd member per test binary, servers over it (a ledger
// with the decorated storage), and objects to write.
//
// Guarantees: (1) Tests share only the member: each Store has a prefix. (2) fsck checks every Store after the test,
// unless damaged on purpose. (3) Two servers of a Store share no connection or memory.
//
// Read store.go, then objects.go.
package store
