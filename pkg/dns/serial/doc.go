// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serial has the arithmetic of SOA serials (RFC 1982).
//
// Guarantees: (1) Of two serials without a defined order, neither is ahead. (2) Next is ahead of its receiver. (3)
// Next never returns 0, to some secondaries "no zone yet".
//
// Out of scope: zones or dates; package law chooses a zone's next serial.
//
// Read serial.go.
package serial
