// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rdata parses, normalises and formats the data of DNS records (rdata), such as "10 mail" of an MX record. A
// Value is the data as its author wrote it, in canonical spelling: "mail" stays relative to the zone. Resolve returns
// the text with absolute names, and Pack the wire form.
//
// Guarantees:
//
//  1. Two Values of a type with equal Texts are the same definition. Parsing a Text returns the same Value.
//  2. Nothing is dropped or truncated without an error, and no input panics.
//
// Read value.go for the API, pack.go for many values, format.go for the types, text.go for a value's syntax.
package rdata
