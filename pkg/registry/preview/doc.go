// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preview answers dry runs with the decision of the commit. A generic store would answer them from the object
// alone.
//
// It promises: (1) a request with dryRun=All runs everything a real one runs up to the commit, then the decision of the
// commit itself, and answers with the object as it would be or the error it would meet (S7.3); (2) it writes nothing;
// (3) it does not change requests without dryRun, except that deletions begin as package fromcache does.
//
// It does not know the decision, which is a function passed to it.
//
// Read store.go.
package preview
