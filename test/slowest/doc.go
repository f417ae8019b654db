// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command slowest runs go test with the given arguments, and then prints the slowest packages and tests and the
// processor time of compiling, linking and testing, for `make test` and `make test-race`.
//
//	slowest [-go PROGRAM] [-beside PROGRAM]... [-table FILE] [arguments of go test]
//
// PROGRAM of -go replaces the go command. Each PROGRAM of -beside, such as hack/gardener.sh, runs go in another module:
// slowest vets and tests that module at the same time, one module after the other. FILE gets each package and
// test of a second or more; the summary has 15 rows of each.
//
// Guarantees:
//
//  1. It prints the output of go test without -v, and then the summary.
//  2. The exit code is go test's; the first that failed, if several ran.
//  3. A cached result does not count.
//
// Read main.go first.
package main
