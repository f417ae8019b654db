// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package security attacks a server as a hostile tenant. A table has the numbered attacks with the expected refusals.
//
// Guarantees:
//
//  1. TestAttacks has a sub-test for each number. It attacks a real server behind a real kube-apiserver, or names tests
//     in other packages (-everywhere runs them).
//  2. The attacker has only a tenant's rights: kubizone-zone-admin in one namespace.
//  3. No refusal names the victim's namespace, objects or user.
//  4. After all attacks, the store is intact (fsck).
//
// Read attacks_test.go, then arena_test.go for the tenants.
package security
