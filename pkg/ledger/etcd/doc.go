// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd is how the rooms of the ledger speak to etcd: operations and compares (ops.go), ranges that are read,
// followed or deleted in pages (ranges.go), the namespace that pays for a transaction (charge.go), and goroutines
// with deep stacks (workers.go).
//
// Promises. (1) It writes once. (2) A watch hands over each change once and in order, or returns an error. (3) What one
// call holds back of others is bounded: a page of keys, not a range.
//
// It does not know zones, decisions or what a key says, nor which etcd answers: pkg/etcd/embed runs one, and
// pkg/etcd/maintenance cares for it.
//
// Read first: ops.go, then ranges.go.
package etcd
