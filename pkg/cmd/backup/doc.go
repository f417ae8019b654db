// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup is the sub-command that takes a backup.
//
// Guarantees: (1) Servers continue to answer. (2) No existing file is written. (3) After exit code 0 the backup is
// complete and on disk.
//
// Out of scope: the format (pkg/backup).
//
// Read backup.go.
package backup
