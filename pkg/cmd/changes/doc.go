// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changes is the sub-command to print the changes of a zone.
//
// Guarantees:
//
//	H1. Each change is printed once and in order, across several watches.
//	H2. An error message has the command to continue.
//
// Out of scope: the stored journal of changes.
//
// Read changes.go.
package changes
