// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics compares the list of all metrics, testdata/metrics.txt, with processes and with docs/operations.md.
//
// Guarantees:
//
//  1. The list equals the registered metrics: names, types, labels and help change only on purpose. UPDATE=1 go test
//     ./test/metrics writes it.
//  2. Every served metric named kubizone_ is listed, for this process.
//  3. docs/operations.md has every listed metric; alerts and pages name only these, and those of bind-agent.
//
// Read list.go, then testdata/metrics.txt.
package metrics
