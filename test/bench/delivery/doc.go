// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command delivery (`make bench-delivery`) measures the time from a client's write to a secondary's answer or a
// webhook's call.
//
// Guarantees: (1) Kubizone is compared with a Knot with dynamic updates, alternating within every round. A ratio is of
// two figures of a round. (2) A change is measured from its due time to the first answer with its data. Without an
// answer, the run ends. (3) Every server is the shipped program.
//
// Read run.go, then change.go, then docs/performance.md.
package main
