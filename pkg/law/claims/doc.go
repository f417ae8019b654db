// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claims decides whether a tenant may have a name beside what others have: a claimed name comes with all below
// it, and no other tenant writes at, above or below it (S4.7 to S4.22).
//
// Promises. (1) What stands is asked in one walk up, one range of owners and one of zones, however many others have
// names. (2) No age decides: what comes second is refused, from whatever side it comes. (3) A refusal names no other
// namespace (S1.8).
//
// It does not know records: what asks is a namespace, a kind of rule and a name.
//
// Read first: claim.go, from RefuseClaim on.
package claims
