// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serial compares and increments SOA serials (RFC 1982).
//
// Guarantees: (1) Of two serials without a defined order, neither is ahead. (2) Next is ahead of its receiver. (3) Next
// never returns 0, which means "no zone yet" to some secondaries.
//
// Out of scope: zones and dates (package law).
//
// Read serial.go.
package serial
