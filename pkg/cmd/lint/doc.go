// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint is the sub-command lint, which validates manifests without a server.
//
// Guarantees:
//
//	L1. Errors and warnings are the server's, in the same words: both call package validation. A Zone gets no warning
//	    about a name server address or rule in another object of the files.
//	L2. Every object is validated, and any error gives exit code 1.
//
// Out of scope: other objects, on which rules, claims and conflicts depend: they need a dry run by the
// server.
//
// Read lint.go.
package lint
