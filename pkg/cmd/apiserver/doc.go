// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is kubizone apiserver: it serves the aggregated API behind a kube-apiserver, on an etcd cluster or
// an etcd member in the process.
//
// Guarantees:
//
//	P1. All errors in the flags are reported at once, before any change.
//	P2. Flags of kube-apiserver have the same meaning, or are not offered.
//	P3. Parts stop in the reverse order of their start: the API after its pending answers, the ledger (storage of
//	    zones), etcd. A failed part stops all.
//
// Out of scope: decisions about requests.
//
// Read options.go first, then run.go.
package apiserver
