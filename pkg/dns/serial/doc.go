// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serial compares and increments the serial numbers of SOA records (RFC 1982). The numbers wrap around at 2^32,
// so < and > give wrong answers; use Serial.Ahead.
//
// Guarantees:
//
//  1. RFC 1982 defines no order for two serials at a distance of 2^31; then neither is ahead.
//  2. Next is ahead of its receiver.
//  3. Next skips 0, because some secondaries take 0 for "no zone yet".
package serial
