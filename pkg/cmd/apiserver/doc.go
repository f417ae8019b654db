// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is kubizone apiserver, the aggregated API behind a kube-apiserver, on an etcd cluster or an etcd
// member in the process.
//
// Guarantees:
//
//	P1. All errors in the flags are reported at once, before any change.
//	P2. Flags of kube-apiserver have the same meaning, or are not offered.
//	P3. Parts stop in the reverse order of their start: sub-commands, the API after its pending answers, the ledger
//	    (storage of zones), etcd. A failed part stops all, but a failed sub-command starts again.
//	P4. A sub-command in the process has its own user's rights at kube-apiserver and at this server, and reads zones
//	    in the server's memory.
//
// Out of scope: decisions about requests.
//
// Read options.go first, then run.go, and beside.go for sub-commands in the server's process.
package apiserver
