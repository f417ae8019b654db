// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct admits a write of an object by a function call, as the HTTP handlers of k8s.io/apiserver admit a
// request. Package changeset uses it for the items of change sets, whose storage keeps the write for a common commit.
//
// Guarantees (S10.3):
//
//  1. A write is authorized, admitted, tracked in managedFields, answered and audited like a request.
//  2. A write ends with the context. A panic is audited and reaches the caller.
//
// Unlike a request, a write has no seat of priority and fairness, no request metrics, and no audited latencies.
//
// Read handler.go first, then write.go and audit.go.
package direct
