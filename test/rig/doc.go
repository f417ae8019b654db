// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig starts real servers and tools (peers) for tests: processes with reserved loopback ports and a temporary
// directory.
//
// Guarantees:
//
//  1. Close ends a process by id, waits for the exit, and removes the directory. The caller of a Start function calls
//     Close.
//  2. A program that is not installed is a *Missing with the command that installs it. SkipMissing skips the test, or
//     fails it if KUBIZONE_TEST_REQUIRE_ALL is set.
//  3. Every wait ends with a context; the error contains the peer's output.
//  4. FreePort never gives a port to two tests at once.
//
// Read process.go, then bind.go.
package rig
