// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command slowest runs go test with the arguments that it is given, and prints at the end which packages and which
// tests took the longest. `make test` and `make test-race` run it. `-go PROGRAM`, before all other arguments, names
// another program in the place of go, as hack/gardener.sh for the tests of another module.
//
// It promises:
//
//  1. Before that it prints what go test prints without -v: the output of tests that failed, and a line for
//     each package when the package has ended.
//  2. It ends with the exit code of go test.
//  3. A result from go test's cache counts for nothing: it took no time.
//
// It does not know what is tested, and decides nothing: a slow test is no failure.
//
// Read main.go.
package main
