// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint is the sub-command that judges manifests without a server.
//
// Guarantees:
//
//	L1. Errors and warnings are the server's, in the same words: of each object by package validation, and of all
//	    objects by package law, as of a server without others. A test compares both with testdata/mistakes.yaml.
//	L2. None rests on an object outside of the files: a zone only named there, or Records and Delegations of another
//	    namespace. A name without a rule in the files is a warning.
//	L3. Every object is judged, and any error gives exit code 1.
//
// Out of scope: classes, namespaces, Secrets and a server's objects.
//
// Read first: lint.go, set.go, store.go.
package lint
