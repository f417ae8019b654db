// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics holds the list of all metrics of Kubizone, testdata/metrics.txt, to what its processes register and
// serve, and docs/operations.md to the list.
//
// It promises:
//
//  1. A metric that a package registers and the list lacks, and one that the list has and no package registers, fail:
//     names, types, labels and help change on purpose alone. UPDATE=1 go test ./test/metrics writes the list.
//  2. Every metric that a process serves under the name kubizone_ is in the list, for this process.
//  3. Every metric of the list stands in docs/operations.md, and alerts and pages name these alone, and those that
//     bind-agent serves.
//
// It does not know whether a metric counts what its help says: the tests of its package do.
//
// Read list.go, then testdata/metrics.txt.
package metrics
