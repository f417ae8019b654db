// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package figures holds what a benchmark found: series of values, one a round, their medians, the targets they are held
// to, and the files that one run is compared with another by.
//
// It promises:
//
//  1. A median is of the rounds' values: the median of ratios, not the ratio of medians.
//  2. A run reads the file of another: a header, then a line of JSON for each series.
//  3. Two runs differ in a figure only where the values of their rounds do not overlap.
//
// It does not know what is measured, nor how.
//
// Read results.go first, then report.go.
package figures
