// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd contains helpers for etcd's Go client:
//
//   - operations and compares of transactions
//   - reads of long ranges in pages, and watches that resume
//   - charges of written octets to namespaces
//   - reuse of goroutines, whose stacks are costly to grow
//
// Guarantees:
//
//  1. A call writes at most once.
//  2. A watch delivers each change once and in order, or fails.
//  3. A call blocks other requests at etcd for a page of keys at most, never for a whole range.
//
// Read first: ops.go, then ranges.go.
package etcd
