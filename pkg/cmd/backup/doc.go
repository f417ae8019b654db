// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup takes a backup from the command line.
//
// It promises: (1) Servers go on while it is taken. (2) It writes no file that was there before. (3) Exit code 0 says
// that the backup is whole and on the disk.
//
// It does not know what a backup is: that is pkg/backup's to say.
//
// Read backup.go.
package backup
