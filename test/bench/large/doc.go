// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command large measures the growth of a server, `kubizone up`: one zone of a thousand to a million records, and many
// zones of ten.
//
// Guarantees: (1) Measured data was written through law and ledger, and is kept between runs, compacted; a server
// gets a copy. (2) Writes in a big zone alternate with writes in the smallest, with both servers running. (3) A
// single command makes the tables of docs/performance.md.
//
// Out of scope: other software: ../cluster and ../delivery do.
//
// Read main.go first, then growth.go.
package main
