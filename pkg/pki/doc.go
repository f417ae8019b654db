// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the credentials of a standalone server and its administrator: a certificate authority, a serving
// certificate, a client certificate of group system:masters, and the kubeconfig.
//
// It promises:
//
//	P1. Private keys and the kubeconfig are created with mode 0600, in a directory of mode 0700.
//	P2. A valid pair is kept, so that copies of the kubeconfig survive restarts. A leaf is issued again if an
//	    address is missing, the authority differs, or less than a year is left.
//	P3. Files are replaced atomically: a crash leaves the old or the new file.
//
// It knows no cluster: pkg/apiserver/serving keeps the certificate of an aggregated server, issued by Issue. It does
// not authenticate: pkg/apiserver does.
//
// Read pki.go first, then pair.go.
package pki
