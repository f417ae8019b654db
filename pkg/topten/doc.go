// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package topten chooses the namespaces that a metric names: the first ten in an order.
//
// Guarantees: (1) However many namespaces a tenant creates, a metric has at most ten, so Prometheus does not run full.
// (2) Equal maps give equal keys.
//
// Out of scope: the metrics.
//
// Read topten.go.
package topten
