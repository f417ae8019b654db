// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package changes prints what changed in a zone, from the command line.
//
// It promises:
//
//	H1. It prints each change once and in order, also when the server ends the watch and it asks again.
//	H2. Where it cannot go on it says after which serial it ended, and how to go on.
//
// It does not know the journal: it asks the API.
//
// Read changes.go.
package changes
