// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd wraps etcd's client: operations and compares (ops.go), ranges in pages and watches (ranges.go), charges
// to namespaces (charge.go), and goroutines with deep stacks (workers.go).
//
// Guarantees:
//
//  1. A call writes at most once.
//  2. A watch delivers each change once and in order, or fails.
//  3. A call blocks other requests at etcd for a page of keys, never for a whole range.
//
// Out of scope: the meaning of keys, and etcd's process (pkg/etcd).
//
// Read first: ops.go, then ranges.go.
package etcd
