// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standalone runs `kubizone up` in a test's process.
//
// Guarantees:
//
//  1. Start returns a ready server and stops it after the test. A server's error fails the test.
//  2. The server uses free loopback ports and a directory of the test.
package standalone
