// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol has the JSON types of the agents' HTTP API: the zone part of /api/v1 of bindcar 0.9.
//
// Guarantees:
//
//	P1. A field of both Kubizone's agent and bindcar 0.9 means the same to both. Each ignores other fields.
//	P2. The comment of a field that only the agent supports says "agent".
//
// Out of scope: HTTP.
//
// Read protocol.go.
package protocol
