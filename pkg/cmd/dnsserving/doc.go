// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsserving has the flags and metrics of the hidden primary, the DNS server from which secondaries transfer
// the zones. The commands kubizone primary and kubizone up share them.
//
// Guarantees:
//  1. Zones are transferred only to the clients, and served only in the views, that a flag names.
//
// Out of scope: the source of the zones.
//
// Read options.go, then metrics.go.
package dnsserving
