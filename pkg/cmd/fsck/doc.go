// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsck checks what is stored, from the command line.
//
// It promises:
//
//	F1. It writes nothing into a store that it checks, except what etcd itself writes at its start.
//	F2. A data directory in use is checked through the process that uses it.
//	F3. Damage is exit code 1. Pending work of a running server is not damage.
//
// It does not know what is right: that is the ledger's to say (pkg/ledger/fsck).
//
// Read fsck.go.
package fsck
