// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsck is the sub-command that checks the stored data.
//
// Guarantees:
//
//	F1. Nothing is written into the checked store, apart from etcd's own writes at start.
//	F2. A data directory in use is checked through the process that has it open.
//	F3. Damage is exit code 1. Pending work of a running server is not damage.
//
// Out of scope: the checks (pkg/ledger/fsck).
//
// Read fsck.go.
package fsck
