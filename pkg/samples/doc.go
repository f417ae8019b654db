// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package samples registers metrics whose values are read at each scrape.
//
// Guarantees: (1) a metric is BETA, and a counter if its name ends with _total, otherwise a gauge.
//
// Out of scope: metrics counted at each event.
//
// Read samples.go.
package samples
