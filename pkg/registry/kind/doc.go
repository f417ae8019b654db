// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind is the REST storage that all kinds have in common: a Kind says what is a kind's own, and gets its
// storage, strategies, subresources and table from here.
//
// It promises: (1) values that a client writes into the server's fields are silently replaced by the old ones, and the
// generation counts changes of spec (S7.4); a new object is Ready=Unknown until something judges it (S7.11); (2) a
// Ready for an older serial than the object's is dropped (S6.13); (3) a write of a subresource changes nothing but
// the fields of that subresource; (4) a write of finalizers can add or remove kubi.zone/delivery and changes nothing
// else; (5) a request with dryRun=All runs everything that a real one runs up to the commit, then the decision of
// the commit itself, and answers with the object as it would be or the error it would meet (S7.3); (6) deletions begin
// as package fromcache says.
//
// It does not know which fields the server sets, what an object must be, nor how a commit decides: each kind brings
// its own.
//
// Read kind.go first, then strategy.go and merge.go.
package kind
