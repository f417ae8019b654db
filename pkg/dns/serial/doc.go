// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serial holds the arithmetic of SOA serials (RFC 1982).
//
// It promises: (1) of two serials whose order is undefined neither is ahead;
// (2) Next is always ahead of its receiver; (3) Next never returns 0, which some secondaries take for "no zone yet".
//
// It does not know what a serial stands for, which one a zone had last, or
// what day it is: the rule that chooses a zone's next serial lives in law.
//
// Read serial.go; there is nothing else.
package serial
