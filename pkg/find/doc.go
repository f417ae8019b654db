// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package find searches Records by name or address, and zones and writers of a name, with the rights of a user.
//
// Guarantees:
//
//	F1. All namespaces are searched if the user may list them, else the user's; Where names the scope.
//	F2. A search by name asks the server by field selector, and reads no other Records. A search by prefix asks the
//	    zones, if the user may read them all and they are few.
//
// Out of scope: the decisions about a Record, which its status has.
//
// Read find.go, then within.go and writers.go.
package find
