// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output prints the results of commands: as text for people, or as JSON or YAML for programs (-o).
//
// Guarantees:
//
//	T1. On a terminal, text is wrapped at the terminal's width. In a pipe a line stays whole.
//	T2. Colour appears only on a terminal, without NO_COLOR and TERM=dumb. Text of a tenant is escaped, and has no
//	    colour.
//	T3. A JSON document has apiVersion and kind, and the release has its JSON schema.
//	T4. A progress bar appears after two seconds, on a terminal only.
//
// Read first: format.go, text.go, screen.go, bar.go.
package output
