// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package must checks, in one line of a test, a step that has to succeed.
//
// Guarantees: (1) The test fails at the calling line, with the unchanged error. (2) It stops there, as by t.Fatal:
// only the test's goroutine may call.
//
// Out of scope: the code under test. For a word of context, use t.Fatalf; for a program that a machine may lack,
// rig.Need.
//
// Read must.go.
package must
