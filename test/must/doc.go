// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package must fails a test where a step of it that has to work does not, in one line of the test.
//
// It promises: (1) The test fails at the line that called, with the error as it is. (2) It stops there, as by t.Fatal;
// that call is for the goroutine of the test alone.
//
// It does not know what is tested. An error that tells more with a word of the test is t.Fatalf's; a program that a
// machine may lack is rig.Need's.
//
// Read must.go.
package must
