// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source says on the command line which store a command works on: that of a data directory, in use or not, or
// an etcd cluster.
//
// It promises:
//
//	S1. It makes no data directory where there is none.
//	S2. A data directory in use is reached through the process that has it.
//
// It does not know what is done with the store.
//
// Read source.go.
package source
