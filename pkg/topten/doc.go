// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package topten chooses the namespaces that a metric names.
//
// Guarantees: (1) a metric has at most ten namespaces, however many a tenant creates; (2) equal maps give equal keys.
//
// Out of scope: the metrics.
//
// Read topten.go.
package topten
