// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig starts real peers for tests. Each is a typed handle on a process that listens on reserved loopback
// ports and has a temp directory.
//
// It promises:
//
//  1. Close ends a process by id, waits for the exit, and removes the directory.
//  2. For a program that is not installed, the error is a *Missing with the command that
//     installs it. SkipMissing skips the test with that reason, or fails the test if
//     KUBIZONE_TEST_REQUIRE_ALL is set.
//  3. Every wait ends with a context, and the error contains the peer's output.
//  4. Nothing leaves the loopback interface.
//  5. FreePort never gives a port to two tests of a machine at the same time.
//
// It does not know the code under test: it imports no package whose behaviour a test judges with its help, so subject
// and judge share no code.
//
// Read process.go first, then bind.go. Package kuberig has everything that links Kubernetes' clients or etcd, which
// rig does not link.
package rig
