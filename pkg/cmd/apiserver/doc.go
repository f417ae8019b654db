// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is kubizone apiserver: the aggregated API behind a kube-apiserver, with its authentication and
// authorization, on an etcd cluster or a member of its own.
//
// Guarantees:
//
//	P1. All errors in the flags are reported at once, before any change.
//	P2. Flags of kube-apiserver have the same meaning, or are not offered.
//	P3. Parts stop in the reverse order of their start: the API after its pending answers, then the ledger, then
//	    etcd. A failed part stops all.
//
// Out of scope: decisions. The package starts and stops the parts.
//
// Read options.go first, then run.go.
package apiserver
