// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command delivery (`make bench-delivery`) measures the time from a client's write to a secondary's answer or a
// webhook's call.
//
// Guarantees:
//
// (1) The compared ways alternate within every round, and a ratio is of two figures of a round. Kubizone is compared
// with a Knot with dynamic updates.
//
// (2) A change is measured from the due time to the first answer with its data, without which the run ends.
//
// (3) Every server is the shipped program.
//
// (4) Measurements are kept as JSON lines, compared with the last kept run, and printed as Markdown.
//
// Out of scope: the working of deliveries.
//
// Read run.go (the measurements, in order), then change.go, then docs/performance.md for the figures.
package main
