// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore is the sub-command that restores a backup into a new data directory.
//
// Guarantees: (1) A directory with data is not touched. (2) After exit code 0 the restored data is complete and clean,
// otherwise the directory has no data.
//
// Out of scope: the format (pkg/backup).
//
// Read restore.go.
package restore
