// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package figures has the results of a benchmark: series with a value a round, medians, targets, and files for
// comparing runs.
//
// It promises:
//
//  1. A median is of the rounds' values: the median of ratios, not the ratio of medians.
//  2. A run reads the file of another run: a header, then a line of JSON for each series.
//  3. Two runs differ in a figure only if the values of their rounds do not overlap.
//
// It does not know the measured program.
//
// Read results.go first, then report.go.
package figures
