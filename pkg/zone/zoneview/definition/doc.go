// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition reads a zone's content and changes from the API server (subresources zones/entries and
// zones/changes), for processes with copies of zones, such as controllers. Values are as users wrote them (the
// definition, with relative names), because the zone's hash covers the definition.
//
// Guarantees:
//
//  1. A result is complete, belongs to the requested zone and is in the order of serials, or there is an error.
//  2. RRsets are decoded individually, so a large response is never in memory beside the zone.
//
// Read read.go first, then definition.go.
package definition
