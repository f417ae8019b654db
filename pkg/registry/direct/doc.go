// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct serves writes of objects without HTTP, as the handlers of k8s.io/apiserver do.
//
// Guarantees (S10.3): (1) a write is authorized, admitted, managed, answered and audited as a request with the same
// body; (2) text is decoded once, and an apply's twice, to check the types of fields; objects of this process are not
// encoded; (3) a write ends with the context, and a panic is audited and reaches the caller.
//
// Unlike a request, a write has no seat of priority and fairness, no request metrics, and no audited latencies.
//
// Out of scope: the kind and the user.
//
// Read handler.go first, then write.go and audit.go.
package direct
