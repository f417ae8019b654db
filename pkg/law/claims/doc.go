// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claims checks whether a tenant may have a name in a zone beside other tenants (S4.7 to S4.24). A tenant is
// any namespace but the zone's own. A tenant's record claims its name with all names below: after a record at
// shop.example.org., another tenant may write neither there nor at www.shop.example.org.
//
// The reason: wildcards, CAA, glue and cookies act across names. RefuseClaim is the main check of a new record or child
// zone.
//
// Guarantees: (1) The second of two conflicting claims is refused. (2) A refusal names no other namespace (S1.8).
//
// Out of scope: records.
//
// Read first: claim.go, from RefuseClaim on.
package claims
