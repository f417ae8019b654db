// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki issues the credentials of a standalone server (`kubizone up`): a certificate authority, a serving
// certificate, an administrator's certificate of the group system:masters, and a kubeconfig.
//
// Guarantees:
//
//	P1. Keys and kubeconfig are created with mode 0600, in a directory of mode 0700.
//	P2. A valid pair of certificate and key is kept, so copies of the kubeconfig survive restarts. A certificate is
//	    issued again if it lacks an address, has another authority, or less than a year left.
//	P3. Files are replaced atomically.
//
// Read pki.go first, then pair.go.
package pki
