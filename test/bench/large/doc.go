// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command large measures the growth of a server: one zone of a thousand to a million records, and many zones of ten,
// in `kubizone up` as users run it.
//
// It promises: (1) Measured data was written through law and ledger, and is kept between runs, compacted; a server
// gets a copy. (2) Writes in a big zone are measured in turn with writes in the smallest, with both servers running.
// (3) A single command makes the tables of docs/performance.md.
//
// It does not know other software for comparison: ../cluster and ../delivery do.
//
// Read main.go first, then growth.go.
package main
