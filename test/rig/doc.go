// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig starts real neighbours for tests: each is a typed handle on a process that
// listens on loopback, on ports reserved for it, in a temp directory of its own.
//
// It promises:
//
//  1. Close ends a process by its own id, waits for it, and removes its directory.
//  2. A program that is not installed is a *Missing with the command that brings it;
//     SkipMissing turns that into a skip with the reason, or into a failure where
//     KUBIZONE_TEST_REQUIRE_ALL is set.
//  3. Every wait ends with its context, and its error holds what the neighbour said.
//  4. Nothing leaves the loopback interface.
//  5. FreePort gives a port to one test of the machine, whatever runs beside it.
//
// It does not know what is tested with it: it imports no package whose behaviour a test
// judges with its help, so subject and judge share no code.
//
// Read process.go first, then bind.go. Package kuberig has all that needs Kubernetes' clients or etcd: rig links
// neither.
package rig
