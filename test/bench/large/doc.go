// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command large measures how `kubizone up` grows, with a zone of a thousand to a million records, and with many zones
// of ten.
//
// Guarantees: (1) The data was written through the API. It is kept between runs, and each server gets a copy. (2)
// Writes in a big zone alternate with writes in the smallest, with both servers running. (3) A single run makes the
// tables of docs/performance.md.
//
// Out of scope: other software.
//
// Read main.go first, then growth.go.
package main
