// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is kubizone apiserver: the API behind a kube-apiserver, for tenants under its authentication and
// authorization, on an etcd cluster or on a member of its own.
//
// It promises:
//
//	P1. All errors in the flags are reported at once, before anything is touched.
//	P2. Flags that kube-apiserver has mean what they mean there; one that could not mean it is not offered.
//	P3. Parts stop in the reverse order of their start: the API first, saying that it is not ready and answering what
//	    it has taken in, then the ledger, then etcd; and one that fails stops all.
//
// It decides nothing of its own: it knows all parts and their order.
//
// Read options.go first, then run.go.
package apiserver
