// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adoptcluster is the sub-command that says to which cluster a store belongs (S8.3).
//
// It promises:
//
//	A1. Nothing but that one fact changes, and what it was before is printed.
//
// It does not know what the fact brakes: that is pkg/reaper.
//
// Read adoptcluster.go.
package adoptcluster
