// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol has the JSON types of an agent's HTTP API. An agent is the program beside BIND's named that creates,
// changes and removes zones: kubizone bind-agent, or another project's bindcar. Both have the zone part of /api/v1 of
// bindcar 0.9.
//
// Guarantees:
//
//	P1. A field that both agents know means the same to both. Each ignores other fields.
//	P2. The comment of a field that only kubizone bind-agent knows says "agent".
package protocol
