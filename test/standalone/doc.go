// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standalone runs a whole `kubizone up` in a test's process.
//
// It promises:
//
//  1. A server that is returned is ready; it is told to stop when the test ends, and the test fails where that is an
//     error.
//  2. Ports are free ones of loopback, and everything is kept in a directory of the test's.
//
// It does not know what is tested. A test that needs real processes, to kill one or to read its metrics, is in
// test/e2e or test/rig.
//
// Read standalone.go.
package standalone
