// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rdata parses, normalises and formats rdata, as its author defined it or with absolute names. The data of
// unknown types is octets.
//
// Guarantees: (1) A Value has one spelling: equal Texts of a Type are the same definition, and parsing a Text returns
// the same Value. (2) A relative name stays relative: a Value depends on no zone. (3) The type alone determines the
// names in a value. (4) Nothing is dropped or truncated without an error. (5) No input panics.
//
// Out of scope: owners, TTLs, RRsets, zones, and conflicts between records.
//
// Read value.go for the API, pack.go for many values, format.go for the types, text.go for a value's syntax.
package rdata
