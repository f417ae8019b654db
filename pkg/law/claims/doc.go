// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claims checks whether a tenant (a namespace other than the zone's) may have a name beside the names of others
// (S4.7 to S4.24). A claimed name comes with all names below.
//
// Guarantees: (1) A check reads its facts (stored values) in one walk up, one range of names and one of zones. (2) The
// second of two claims is refused. (3) A refusal names no other namespace (S1.8).
//
// Out of scope: records.
//
// Read first: claim.go, from RefuseClaim on.
package claims
