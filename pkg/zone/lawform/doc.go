// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lawform converts API objects, such as Zones and Records, to the Go types of package law. The API server
// converts objects before each decision of package law, and kubectl kubizone lint converts files to judge them without
// a server.
//
// Guarantees:
//  1. Each field of a spec is converted, or fields_test.go says why not.
//
// Read lawform.go; changes.go converts answers of the subresource zones/changes.
package lawform
