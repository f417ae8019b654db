// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol has the JSON types of the agents' HTTP API: the zone part of /api/v1 of bindcar 0.9.
//
// Guarantees:
//
//	P1. A field means the same to the agent as to bindcar 0.9, or is ignored.
//	P2. The comment of a field that only the agent supports says "agent".
//
// Out of scope: HTTP, which packages agent and client handle.
//
// Read protocol.go.
package protocol
