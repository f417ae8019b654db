// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package figures collects a benchmark's results: series with a value per round, medians, targets, and files that
// compare runs.
//
// Guarantees:
//
//  1. A median is of the rounds' values: the median of ratios, not the ratio of medians.
//  2. The file of a run has a header, then a JSON line for each series.
//  3. Two runs differ in a figure only if their rounds' values do not overlap.
//
// Read results.go first, then report.go.
package figures
