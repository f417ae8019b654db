// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey is the sub-command that creates TSIG keys for dynamic updates, and prints clients' configurations.
//
// Guarantees:
//
//	K1. The command create writes Secret, Role, RoleBinding and UpdateKey with the rights of the user, and removes
//	    them after a refusal. With --secrets-dir the Secret is files for kubizone up, without Role and RoleBinding.
//	K2. The command show prints each client's format, with the algorithm, since most clients' default is refused.
//
// Out of scope: the scope of a key, enforced by the API server.
//
// Read updatekey.go.
package updatekey
