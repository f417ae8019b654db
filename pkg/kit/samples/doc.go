// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package samples registers Prometheus metrics whose values are read at each scrape.
//
// Guarantees: (1) A metric has the stability level BETA. If the name ends with _total, the metric is a counter,
// otherwise a gauge.
package samples
