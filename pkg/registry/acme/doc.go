// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acme is the REST storage of the payloads of cert-manager's DNS-01 webhook solver.
//
// Guarantees: (1) a challenge is solved under the zone rules of its resourceNamespace, if the caller may solve
// there; (2) only a value of the TXT RRset at resolvedFQDN with the form of a DNS-01 response is written or removed;
// (3) both are idempotent; (4) a refusal is in the response, which cert-manager copies to the Challenge's status.
//
// Out of scope: how package updatekey plans and writes a change.
//
// Read storage.go.
package acme
