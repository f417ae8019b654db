// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claims checks whether a tenant may have a name in a zone beside other tenants (S4.7 to S4.24). A tenant is
// any namespace but the zone's own. A tenant's record claims its name with all names below: after a record at
// shop.example.org., another tenant may write neither there nor at www.shop.example.org.
//
// The reason: records act on other names. For example, a CAA record at shop.example.org. also restricts certificates
// for www.shop.example.org. RefuseClaim is the main check.
//
// Guarantees: (1) Of two conflicting claims the second is refused, unless a rule of the zone's owner permits both. (2)
// A refusal names no other namespace (S1.8).
//
// Package records decides the rest about a record.
//
// Read first: claim.go, from RefuseClaim on.
package claims
