// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore is the command kubizone restore. It writes the file of a kubizone backup into a new data directory of
// etcd, from which a server can start.
//
// Guarantees:
//
//  1. A directory with data is not touched.
//  2. After exit code 0 the restored data is complete and has passed the check of kubizone fsck. Otherwise the
//     directory has no data.
package restore
