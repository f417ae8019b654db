// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command semantics prints, for every numbered sentence of docs/semantics.md, the tests that name it. `make semantics`
// and hack/verify-semantics.sh run it.
//
// Guarantees:
//
//  1. A sentence without a test, and a test that names an unknown sentence, are errors, with exit code 1.
//  2. A test is a Go test or fuzz function, a scenario file in testdata that a test runs, or a story of
//     docs/situations.md. It names sentences in its name, its comments, the comment of a package with a single
//     property, the heading of a story, at the beginning of a subtest's name, or at a called function testX. Failure
//     messages, comments of helpers and expected output do not count.
//  3. Rules S1 to S10, and S13 to S16, have at most 30 words each, apart from reason, examples, list and table; S1 to
//     S10 have 3,200 in all.
//
// Read table.go.
package main
