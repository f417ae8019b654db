// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct serves writes of objects without HTTP, as the handlers of k8s.io/apiserver serve requests.
//
// It promises (S10.3): (1) a write is authorized, admitted, managed, answered and audited as a request with the same
// body is; (2) octets become an object once, and an object of this process becomes none; the octets of an apply are
// read a second time for the types of their fields; (3) a write ends with its context, and a panic is audited and goes
// on to the caller.
//
// It differs from a request in three points: a write has no seat of priority and fairness, no metric counts it as a
// request, and its audit event has no latencies.
//
// It does not know which kind it serves, nor who writes.
//
// Read handler.go first, then write.go and audit.go.
package direct
