// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acme is the REST storage of ChallengePayloads: it solves DNS-01 challenges for cert-manager's webhook solver.
//
// Guarantees: (1) a challenge is solved by the zone rules for its resourceNamespace, if the caller may solve there; (2)
// only a TXT value at resolvedFQDN with the form of a DNS-01 response is written or removed; (3) write and removal are
// idempotent; (4) cert-manager copies a refusal to the Challenge.
//
// Out of scope: the write, by package updatekey.
//
// Read storage.go.
package acme
