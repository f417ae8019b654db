// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore puts a backup into a new data directory from the command line.
//
// It promises: (1) It touches no directory that has data. (2) Exit code 0 says that what is restored is whole and
// clean; anything else that the directory has no data.
//
// It does not know what a backup is: that is pkg/backup's to say.
//
// Read restore.go.
package restore
