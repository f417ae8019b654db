// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics compares the list of all metrics, testdata/metrics.txt, with the metrics of processes, and
// docs/operations.md with the list.
//
// Guarantees:
//
//  1. The list equals the registered metrics, so names, types, labels and help change only on purpose. UPDATE=1 go test
//     ./test/metrics writes the list.
//  2. Every served metric named kubizone_ is in the list, for this process.
//  3. docs/operations.md has every metric of the list; alerts and pages name only these, and those of bind-agent.
//
// Out of scope: the values of metrics.
//
// Read list.go, then testdata/metrics.txt.
package metrics
