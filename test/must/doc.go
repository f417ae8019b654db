// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package must checks, within one line of a test, a step that has to succeed.
//
// It promises: (1) The test fails at the calling line, with the unchanged error. (2) The test stops there, as by
// t.Fatal, so only the goroutine of the test may call.
//
// It does not know the code under test. If an error needs a word of context, use t.Fatalf; for a program that a
// machine may lack, use rig.Need.
//
// Read must.go.
package must
