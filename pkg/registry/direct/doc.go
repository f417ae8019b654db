// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct serves the items of change sets (package changeset) without HTTP, as the handlers of k8s.io/apiserver
// serve requests.
//
// Guarantees (S10.3): (1) a write is authorized, admitted, tracked in managedFields, answered and audited like a
// request; (2) text is decoded once, for an apply twice, to check the types of fields; Write.Object is not encoded; (3)
// a write ends with the context, and a panic is audited and reaches the caller.
//
// Unlike a request, a write has no seat of priority and fairness, no request metrics, and no audited latencies.
//
// Out of scope: validation, and authentication of the user.
//
// Read handler.go first, then write.go and audit.go.
package direct
