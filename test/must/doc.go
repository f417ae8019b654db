// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package must fails a test, in a single line of it, if a step returns an error or something does not come.
//
// Guarantees: (1) The test fails at the calling line, with the unchanged error. (2) The test stops as by t.Fatal, so
// only its goroutine may call, and after Say it goes on.
//
// Begin with must.go.
package must
