// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preview makes dry runs tell the truth: a generic store answers them from the object alone, while what a
// write of ours comes to is decided at its commit.
//
// It promises: (1) a request with dryRun=All runs everything a real one runs up to the commit, then the decision of
// the commit itself, and answers with the object as it would be or the error it would meet (S7.3); (2) it writes
// nothing; (3) a request without dryRun is not touched, but that a deletion begins as package fromcache has it.
//
// It does not know the decision, which is a function passed to it.
//
// Read store.go.
package preview
