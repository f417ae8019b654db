// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint checks manifests of Kubizone's objects without a server, for kubectl kubizone lint, review and plans.
//
// Guarantees:
//
//	L1. Errors and warnings are a server's, in the same words. Package validation judges each object alone. Package
//	    law judges all together, like a server without other objects.
//	L2. A server may have objects outside of the files, so a name without a rule in the files is a warning, not an
//	    error.
//	L3. Every object is judged.
//
// Read first: lint.go, set.go, store.go.
package lint
