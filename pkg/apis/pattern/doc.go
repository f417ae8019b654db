// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pattern parses and matches the name patterns in the rules of a zone. A pattern is relative to the zone. For
// example, "*.dev" matches a.dev and a.b.dev but not dev, and "foo*" matches foobar.
//
// Guarantees:
//
//  1. A pattern never matches a name outside the zone. A pattern with "*" never matches the name of the zone itself.
//  2. Matching takes time linear in the length of the name, because only a leading label "*" matches several labels.
//
// Read pattern.go first.
package pattern
