// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind implements the REST storage that all kinds share. A Kind declares the differences.
//
// Guarantees: (1) a write silently keeps server-set fields, and generation counts changes of spec (S7.4); a new object
// is Ready=Unknown until judged (S7.11); (2) a controller's Ready for an older serial is dropped (S6.13); (3) a write
// of a subresource changes only its fields; (4) the subresource finalizers only adds or removes kubi.zone/delivery; (5)
// a dry run returns the commit's object or error (S7.3); (6) deletions start from the watch cache (package fromcache);
// (7) a 422 has the cited rule of each error as a cause.
//
// Out of scope: the validation and decisions of a kind.
//
// Read kind.go first, then strategy.go and merge.go.
package kind
