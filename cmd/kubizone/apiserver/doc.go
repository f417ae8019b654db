// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is the command kubizone apiserver, the aggregated API behind a kube-apiserver. It stores objects in
// an etcd cluster, or in an etcd member in its process. After "--" the command line may name the sub-commands
// controller and primary, to run in the process too.
//
// Guarantees:
//
//	P1. All errors in the flags are reported at once, before any change.
//	P2. A flag with the name of a flag of kube-apiserver has the same meaning.
//	P3. Parts stop in the reverse order of their start: sub-commands, the API after its pending answers, the ledger
//	    (storage of zones), etcd. If a part fails, all stop. A failed sub-command starts again instead.
//	P4. A sub-command in the process has the rights of its own user (--as) at both servers, and reads zones in the
//	    server's memory.
//
// Read options.go first, then run.go, and beside.go for sub-commands.
package apiserver
