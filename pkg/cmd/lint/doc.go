// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint is the sub-command that judges manifests without a server.
//
// Guarantees:
//
//	L1. Errors and warnings are those of the server, in the same words: each object alone by package validation, and
//	    all together by package law, as if a server had them and no others. testdata/mistakes.yaml is the table of
//	    verdicts of both, which a test compares.
//	L2. No error and no warning rests on an object that the files lack: a zone that they only name, another
//	    namespace's Records or Delegations. A name that the rules of the files do not allow is a warning.
//	L3. Every object is judged, and any error gives exit code 1.
//
// Out of scope: classes, namespaces and Secrets of the server, and what is stored there.
//
// Read first: lint.go, set.go, store.go.
package lint
