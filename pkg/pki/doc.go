// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes what a standalone server and its administrator authenticate each other by: a certificate
// authority, a serving certificate, a client certificate of group system:masters, and the kubeconfig that holds them.
//
// It promises:
//
//	P1. Private keys and the kubeconfig have mode 0600 in a directory of mode 0700, from their first octet on.
//	P2. A valid pair that exists is kept: a kubeconfig copied elsewhere goes on working over restarts. A leaf is
//	    made anew when it covers too few addresses, does not belong to the authority or has less than a year left.
//	P3. Every file is replaced whole: a crash leaves the old or the new one.
//
// It knows no cluster: what an aggregated server serves with is kept and renewed by pkg/apiserver/serving, which makes
// its pairs with Issue. It does not authenticate either; pkg/apiserver does, with the authority's certificate.
//
// Read pki.go first, then pair.go.
package pki
