// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsserving has the flags and metrics of the hidden primary, the DNS server from which secondaries transfer
// the zones, for kubizone primary and kubizone up. Flags admit clients by address and TSIG key, and select their views
// (split horizon: zones of the same name).
//
// Guarantees:
//  1. A client admitted by the flags gets only zones in the views of --dns-view.
//
// Read options.go, then metrics.go.
package dnsserving
