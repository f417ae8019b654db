// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lawform converts API objects, such as Zones and Records, to the Go types of package law. Package law accepts
// or refuses writes of zones and records, by pure functions without Kubernetes types. The API server converts before
// each such decision, kubectl kubizone lint to judge files without a server.
//
// Guarantees:
//  1. Each field of a spec is converted, or fields_test.go says why not.
//
// Out of scope: the way back to objects (package ledger/objects).
//
// Read lawform.go; changes.go converts a zone's changed entries, as the subresource zones/changes returns them.
package lawform
