// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adoptcluster is the sub-command that says to which cluster a store belongs (S8.3).
//
// It promises:
//
//	A1. That one fact is all that changes, and the one before is printed.
//
// It does not know what depends on that fact: that is pkg/reaper's.
//
// Read adoptcluster.go.
package adoptcluster
