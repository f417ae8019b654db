// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsserving has the flags of the hidden primary that a sub-command runs: which views it serves, on which
// address and to which clients. It has its metrics too.
//
// It promises:
//
//  1. One error names every wrong flag.
//  2. Without a flag or a default that names it no client may transfer a zone, and no view is served.
//  3. Metrics have no name of a zone or address of a peer in them, and counters never go back.
//
// It does not know where zones come from.
//
// Read options.go, and metrics.go beside it.
package dnsserving
