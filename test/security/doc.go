// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package security is the tenant who tries: numbered attacks, each with the refusal that is expected, in one
// table with those that other packages carry out where what they attack lives.
//
// It promises:
//
//  1. TestAttacks has a sub-test for each number. It carries the attack out here, against a real server behind a real
//     kube-apiserver, or names the tests elsewhere that do, which -everywhere runs too; a number without a test
//     fails.
//  2. The attacker has what a tenant has: kubizone-zone-admin in a namespace of its own, and nothing else.
//  3. The text of a refusal is part of it: none names the victim's namespace, objects or user.
//  4. After all of it the store is what it should be (fsck).
//
// It does not know the server's packages: it builds cmd/kubizone and speaks to it as tenants do.
//
// Read attacks_test.go for the table, then arena_test.go for the tenants.
package security
