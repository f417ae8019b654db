// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serial compares and increments SOA serials (RFC 1982).
//
// Guarantees: (1) Of two serials without a defined order, neither is ahead. (2) Next is ahead of its receiver. (3) Next
// never returns 0, because 0 means "no zone yet" to some secondaries.
//
// Out of scope: zones and dates. Package law chooses a zone's next serial.
//
// Read serial.go.
package serial
