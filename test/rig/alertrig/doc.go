// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alertrig judges the chart's alerts by promtool and the metrics that real processes serve.
//
// Guarantees:
//
//  1. Expression and duration of an alert are those of charts/kubizone/rules. Only the clock is promtool's: a scraped
//     state goes on for an hour, or as the test says.
//  2. Judge returns every alert that fires.
package alertrig
