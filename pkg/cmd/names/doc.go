// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names has the commands of kubectl kubizone about names. "may create www A" asks whether your namespace may
// have this Record, "names" lists the names that it may use, "who" finds the Records of a name or address, and "tree"
// shows the zones.
//
// Guarantees:
//
//	N1. Requests have the rights of the user. If objects are hidden, a line names the missing right.
//	N2. The exit code is 1 if "may" answers no, or if "tree" or "who" finds nothing.
//
// The API server decides (NameReview).
//
// Read names.go, then who.go and tree.go.
package names
