// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rdata reads, normalises and writes the data of resource records: one value at a time, as its author defined
// it or resolved into a zone. The types are those of a list, format.go; data of others is octets.
//
// It promises: (1) a Value has one spelling: equal Texts of one Type are the
// same definition, and parsing a Text gives the same Value again; (2) names
// keep their form: what was written relative stays relative, so a Value does
// not depend on a zone; (3) which part of a value is a name follows from its
// type, never from a search in the text; (4) nothing is dropped or truncated
// in silence: what does not fit is an error that says what would be right;
// (5) no input panics.
//
// It does not know owners, TTLs, RRsets or zones, nor which records may stand
// beside each other.
//
// Read value.go for the API, pack.go for many values at once, format.go for the
// types and their fields, text.go for the syntax of one value.
package rdata
