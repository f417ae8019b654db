// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsserving has the flags and metrics of the hidden primary.
//
// Guarantees:
//
//  1. All errors in the flags are reported at once.
//  2. Zones are transferred only to clients, and served only in views, of a flag or its default.
//  3. Metrics have no name of a zone or address of a peer; counters never decrease.
//
// Out of scope: the source of the zones.
//
// Read options.go, then metrics.go.
package dnsserving
