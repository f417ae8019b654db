// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changes prints what changed in a zone, from the command line.
//
// It promises:
//
//	H1. It prints each change once and in order, also if the server ends the watch and another one begins.
//	H2. If it cannot continue it names the last serial, and the command that continues after it.
//
// It does not know the journal: it asks the API.
//
// Read changes.go.
package changes
