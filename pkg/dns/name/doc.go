// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package name parses, compares and prints the owner names of DNS records. A Name is absolute, such as
// "www.example.org.". A Rel is relative to a zone, such as "www", or "@" for the name of the zone.
//
// Both hold the canonical form: lower case, with international labels as A-labels ("xn--…"). So == compares names, and
// a name can be the key of a map.
//
// Guarantees:
//
//  1. A name is within the limits of RFC 1035 §2.3.4: 63 octets for a label, 255 in all.
//  2. IDNA maps the whole text before any other rule. For example, the ideographic full stop (U+3002) counts as a dot
//     (S1.2).
//
// Read name.go, then parse.go.
package name
