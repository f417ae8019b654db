// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command large measures how a server grows: one zone of a thousand to a million records, and many zones of ten, in
// `kubizone up` as a user runs it.
//
// It promises: (1) what it measures was written through law and ledger, and is kept between runs, compacted, for
// the next measurement; a server gets a copy. (2) The cost of writes in a big zone is measured in turn with what they
// cost in the smallest, both servers up. (3) Its tables are docs/performance.md's, made by one command.
//
// It does not know other software to compare with: ../cluster and ../delivery do.
//
// Read main.go first, then growth.go.
package main
