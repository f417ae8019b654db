// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source has the flags by which commands such as kubizone backup and fsck reach a store: a data directory of an
// embedded etcd, or an etcd cluster.
//
// Guarantees:
//
//	S1. No data directory is created.
//	S2. A data directory in use is reached through the process that uses it.
package source
