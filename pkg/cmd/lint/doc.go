// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint is the sub-command that validates manifests without a server.
//
// Guarantees:
//
//	L1. Errors and warnings are those of the server, in the same words. There is no warning about a Zone whose name
//	    server address or rule is in another object of the files.
//	L2. Every object is validated, and any error gives exit code 1.
//
// Out of scope: rules, claims and conflicts, which depend on other objects.
//
// Read lint.go.
package lint
