// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command semantics prints, for every numbered sentence of docs/semantics.md, the tests
// that name it. `make semantics` runs it, and hack/verify-semantics.sh.
//
// It promises:
//
//  1. A sentence that no test names, and a test that names a sentence which is not there,
//     are errors: they are printed, and the exit code is 1.
//  2. A test is a Go test or fuzz function, or a scenario file that one runs from testdata.
//     It names a sentence in its name, in its own comment, in a comment or text of its
//     body, in the comment of a package that is one property, or in the text of what it
//     calls in its package: a helper that reports "S6.1: ..." does so on behalf of its test. A comment
//     of a helper is no claim, and neither is the expected output of a scenario.
//
// It does not know whether a test proves what it names: that is for who reads it.
//
// Read table.go: what counts as naming.
package main
