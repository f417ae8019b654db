// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets reads Secrets by name, from a cluster or a directory, and the TSIG keys in them.
//
// Guarantees: (1) A Secret is read by name, never listed. (2) No error quotes a value of a Secret. (3) A name leads to
// no file outside the directory.
//
// Out of scope: the permissions to read Secrets.
//
// Read secrets.go first.
package secrets
