// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output prints the results of commands: as text for a terminal or a pipe, as JSON or YAML for programs.
//
// Guarantees:
//
//	T1. Text fits the width of a terminal. In a pipe a line stays whole.
//	T2. Colour is only for a terminal without NO_COLOR and TERM=dumb. No text of a tenant makes a colour.
//	T3. A JSON document has apiVersion and kind, and a schema in the release.
//	T4. A progress bar appears after two seconds, on a terminal only.
//
// Out of scope: the content of a result.
//
// Read first: format.go, text.go, screen.go, bar.go.
package output
