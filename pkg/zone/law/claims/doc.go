// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claims checks whether a tenant may have a name in a zone beside other tenants. A tenant is any namespace but
// the zone's own. A tenant's record claims its name with all names below: after a record at shop.example.org., another
// tenant may write neither there nor at www.shop.example.org.
//
// Claims are necessary because records act on other names. For example, a CAA record at shop.example.org. also
// restricts certificates for www.shop.example.org.
//
// Guarantees:
//
//  1. The second of two conflicting claims is refused, unless a rule of the zone's owner permits both.
//  2. A refusal names no other namespace.
//
// Read first: claim.go, from RefuseClaim on.
package claims
