// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey is the sub-command updatekey: it makes what a TSIG key for dynamic updates needs, and prints the
// configuration of clients.
//
// It promises:
//
//	K1. create makes Secret, Role, RoleBinding and UpdateKey with the rights of its caller, or nothing that it leaves:
//	    what was made before a refusal is removed again.
//	    With --secrets-dir the Secret is files of kubizone up, which needs neither Role nor RoleBinding.
//	K2. show prints the algorithm with the key, in the words of each client: most clients begin with one that is
//	    refused.
//
// It does not know what a message may change: the API server decides that.
//
// Read updatekey.go.
package updatekey
