// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package topten chooses the namespaces that a metric names, for example the ten with the largest values: more would
// fill the memory of Prometheus.
//
// Guarantees:
//
//  1. A metric names at most ten namespaces.
//  2. Equal values give the same choice at each scrape.
package topten
