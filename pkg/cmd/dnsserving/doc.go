// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsserving holds the flags by which a sub-command is told what its hidden primary serves, where and to
// whom, and the metrics of what it did.
//
// It promises:
//
//  1. All that is wrong with the flags is said at once, each by its name.
//  2. Nobody may transfer a zone, and no view is served, that no flag and no default names.
//  3. Metrics have no name of a zone or address of a peer in them, and counters never go back.
//
// It does not know where zones come from.
//
// Read options.go, and metrics.go beside it.
package dnsserving
