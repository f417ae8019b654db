// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package find searches the API with the rights of a user, for commands such as `kubectl kubizone who`. Its results are
// Records by name or by address (also by a prefix such as 192.0.2.0/28), the zones of a name, and the namespaces that
// may write a name.
//
// Guarantees:
//
//	F1. A search covers all namespaces if the user may list them, otherwise the user's namespace.
//	F2. A search by name sends a field selector, so the server returns no other Records. A search by prefix reads the
//	    entries of all zones, if the user may and there are at most 500; otherwise all Records.
//
// Read find.go, then within.go and writers.go.
package find
