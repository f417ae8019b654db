// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command large measures the growth of `kubizone up`: a zone of a thousand to a million records, and many zones of ten.
//
// Guarantees: (1) Data is written through the API, and kept between runs; each server gets a copy. (2) Writes in a big
// zone alternate with writes in the smallest, on running servers. (3) One run makes the tables of docs/performance.md.
//
// Read main.go first, then growth.go.
package main
