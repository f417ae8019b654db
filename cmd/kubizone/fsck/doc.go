// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsck is the command kubizone fsck. It computes Kubizone's internal keys again from the objects in etcd, and
// reports each difference as damage.
//
// Guarantees:
//
//	F1. Nothing is written into the checked store, apart from etcd's own writes at its start.
//	F2. A data directory in use is checked through the process that has opened the directory.
//	F3. Damage gives exit code 1. Pending consequences of a write are no damage.
package fsck
