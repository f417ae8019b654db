// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acme solves DNS-01 challenges of cert-manager's webhook solver. It is the REST storage of ChallengePayloads.
//
// Guarantees: (1) a challenge is solved by the zone rules for its resourceNamespace, if the caller may solve there; (2)
// only a value of the TXT RRset at resolvedFQDN with the form of a DNS-01 response is written or removed; (3) write and
// removal are idempotent; (4) cert-manager copies a refusal from the response to the Challenge.
//
// Out of scope: the plan and write of a change, by package updatekey.
//
// Read storage.go.
package acme
