// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command semantics prints, for every numbered sentence of docs/semantics.md, the tests
// that name it. `make semantics` runs it, and hack/verify-semantics.sh.
//
// It promises:
//
//  1. A sentence that no test names, and a test that names a sentence which is not there,
//     are errors: they are printed, and the exit code is 1.
//  2. A test is a Go test or fuzz function, a scenario file that one runs from testdata, or a story of
//     docs/situations.md, which names the sentences in its heading.
//     It names a sentence in its name, in its own comment, in a comment of its body, in the
//     comment of a package that is one property, or where the name of a subtest begins with it:
//     what Run is handed, or a text in a table. What stands so at a function testX that it calls
//     is its own. A message is no claim: neither what is said where a test fails, nor the comment
//     of a helper, nor the expected output of a scenario.
//  3. `make test` fails on the same errors.
//  4. A rule of S1 to S10 has at most 30 words, but for why it is, its examples, its list and its table, and
//     all of them together have at most 3,200: a user can hold them in the head.
//
// It does not know whether a test proves what it names: that is for its reader.
//
// Read table.go: what counts as naming.
package main
