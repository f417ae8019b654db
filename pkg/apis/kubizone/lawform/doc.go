// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lawform converts API objects to the types of packages law and dns, for the server and for commands.
//
// Guarantees: (1) a value depends on its object alone; (2) the law gets every field of a spec, or fields_test.go says
// why not.
//
// Out of scope: the way back to status (package ledger/objects).
//
// Read lawform.go; changes.go converts the answers of zones/changes.
package lawform
