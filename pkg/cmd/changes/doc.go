// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changes is the sub-command that prints the changes of a zone.
//
// It promises:
//
//	H1. Each change is printed once and in order, across several watches.
//	H2. An error has the last serial, and the command that continues after it.
//
// The package does not know the journal: it asks the API.
//
// Read changes.go.
package changes
