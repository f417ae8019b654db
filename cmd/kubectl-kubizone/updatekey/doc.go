// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey has the commands kubectl kubizone updatekey create and show. "create" makes a TSIG key that may
// send DNS UPDATE messages for some names. "show" prints the configuration of a client with that key, such as nsupdate.
//
// Guarantees:
//
//	K1. create writes Secret, Role, RoleBinding and UpdateKey with the rights of the user, and removes them if any is
//	    refused.
//	K2. show prints the algorithm in each format, because the default of most clients is refused.
package updatekey
