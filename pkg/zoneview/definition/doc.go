// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition reads a zone's content and changes from the API (zones/entries, zones/changes), for processes with
// copies of zones, such as controllers. The content is the definition: values as users wrote them.
//
// Guarantees: (1) An answer is whole, of the requested zone, and in the order of serials, or an error. (2) RRsets are
// decoded singly, so a large zone is in memory once.
//
// Out of scope: the proof of the content (package feed).
//
// Read read.go first, then definition.go.
package definition
