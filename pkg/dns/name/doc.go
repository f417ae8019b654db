// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package name has types for owner names: canonical, comparable, usable as map keys.
//
// Guarantees: (1) A Name is absolute, lower case, in A-labels and within the limits of RFC 1035 §2.3.4; a Rel obeys the
// same rules without a trailing dot. (2) IDNA maps the whole text before any other rule, so U+3002 is a dot (S1.2). (3)
// Parsing a canonical form returns the same value. (4) Key is a bijection, and the keys with a prefix are a subtree.
//
// Out of scope: names in rdata, with any octet (package rdata), and zones.
//
// Read name.go, then parse.go.
package name
