// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pattern holds the patterns of a zone's delegations (S4.6): which
// names of a zone a rule speaks of.
//
// It promises:
//  1. A pattern never matches a name outside the zone, and one with "*" in it
//     never the zone's apex, also where the pattern is absolute and "*" would
//     reach it.
//  2. Labels are compared one to one from the right; only a leading label that
//     is just "*" takes more than one. So there is no backtracking over labels,
//     and within a label the leftmost place for each literal part is enough:
//     matching is linear in the length of the name.
//  3. Names and patterns meet in canonical form (S1.2): lower case, A-labels.
//  4. CanMatch is exact: it is false exactly when no legal name matches.
//
// It does not know types, namespaces or holders, nor whether a matching name
// is one of a Record or of a Zone; that is the law's.
//
// Read pattern.go first.
package pattern
