// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command slowest runs go test with the given arguments, and then prints the slowest packages and tests, for `make
// test` and `make test-race`. `-go PROGRAM`, before all other arguments, replaces the go command (hack/gardener.sh).
//
// Guarantees:
//
//  1. It prints the output of go test without -v, and then the summary.
//  2. The exit code is go test's.
//  3. A cached result does not count.
package main
