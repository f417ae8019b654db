// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup is the command kubizone backup. It writes a snapshot of etcd into a file, while the servers continue
// to answer.
//
// Guarantees:
//
//  1. An existing file is not overwritten.
//  2. After exit code 0 the backup is complete and on disk.
package backup
